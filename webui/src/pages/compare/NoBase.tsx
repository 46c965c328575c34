/** The earlier side has no samples: which one it is, and what can be compared instead. */
import type { DiffAnswer } from '../../api/types.ts';
import { boundOf } from '../../estimates/summary.ts';
import { sidesOf } from './sides.ts';

export function NoBase({ answer, halves }: { answer: DiffAnswer; halves: () => void }) {
  const [, before] = sidesOf(answer.selection, answer.base);
  return (
    <div className="state" role="status">
      <p className="sentence">There are no samples before.</p>
      <p>
        “Before” is {before}. {boundOf(answer.base_totals, answer.base.unit)}
      </p>
      {answer.totals.samples > 0 && (
        <p className="actions">
          <button type="button" className="primary" onClick={halves}>
            Compare the two halves of this range
          </button>
        </p>
      )}
    </div>
  );
}
