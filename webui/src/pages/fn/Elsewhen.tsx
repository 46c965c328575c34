/** The function has no samples in the selection: the bound that follows, and the times that have some. */
import { useAnswer } from '../../api/useAnswer.ts';
import type { Totals } from '../../api/types.ts';
import { boundOf } from '../../estimates/summary.ts';
import { defaultsOf } from '../../selection/params.ts';
import { SELECTION, type SelectionQuery } from '../../selection/selection.ts';
import { localMinute, rfc3339 } from '../../selection/time.ts';
import { latestRun } from './latestRun.ts';
import type { FunctionAnswer, Shown } from './types.ts';

const MONTH_MS = 30 * 86_400_000;

interface Props extends Shown {
  fn: FunctionAnswer;
  through: SelectionQuery;
  asOf: number;
  totals: Totals;
}

export function Elsewhen({ through, asOf, totals, place, go }: Props) {
  const end = Math.ceil(asOf / 86_400_000) * 86_400_000;
  const answer = useAnswer('/api/v1/series', {
    ...through,
    from: rfc3339(end - MONTH_MS),
    to: rfc3339(end),
    step: '1d',
    share: 'total',
  });
  const found = answer.data && latestRun(answer.data);
  const narrowed = place.select !== '' || place.focus !== '' || place.ignore !== '';
  return (
    <div className="state" role="status">
      <p className="sentence">No samples of this function in the selection.</p>
      {boundOf({ ...totals, samples: 0 }, '') !== '' && <p>{boundOf({ ...totals, samples: 0 }, '')}</p>}
      {answer.isLoading && <p className="note">Looking for samples in the last 30 days …</p>}
      {found && (
        <p>
          It has samples from {localMinute(found.from).slice(0, 10)} to {localMinute(found.to).slice(0, 10)}.{' '}
          <button type="button" className="primary" onClick={() => go(found)}>
            Show this time
          </button>
        </p>
      )}
      {answer.data && found === null && <p>It has none with these filters in the last 30 days, either.</p>}
      {narrowed && (
        <p>
          <button
            type="button"
            onClick={() => go({ ...defaultsOf(SELECTION), from: place.from, to: place.to })}
          >
            Clear all filters
          </button>
        </p>
      )}
    </div>
  );
}
