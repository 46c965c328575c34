/** Progress of reprocessing captures for better symbols. */
import type { ReprocessingAnswer } from '../../api/types.ts';
import { Meter } from './Meter.tsx';
import { progressOf } from './words.ts';

export function ReprocessingProgress({ reprocessing }: { reprocessing: ReprocessingAnswer }) {
  return (
    <span className="reprocessing" title={reprocessing.why}>
      {reprocessing.left > 0 && (
        <Meter
          label="captures reprocessed"
          done={reprocessing.ingested + reprocessing.failed}
          of={reprocessing.captures}
        />
      )}
      <span className="note">{progressOf(reprocessing)}</span>
    </span>
  );
}
