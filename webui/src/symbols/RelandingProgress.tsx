/** How far it is that captures get their better symbols. */
import type { RelandingAnswer } from '../api/types.ts';
import { Meter } from './Meter.tsx';
import { progressOf } from './words.ts';

export function RelandingProgress({ relanding }: { relanding: RelandingAnswer }) {
  return (
    <span className="relanding" title={relanding.why}>
      {relanding.left > 0 && (
        <Meter
          label="captures landed again"
          done={relanding.landed + relanding.failed}
          of={relanding.captures}
        />
      )}
      <span className="note">{progressOf(relanding)}</span>
    </span>
  );
}
