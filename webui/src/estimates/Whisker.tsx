/** A value as a bar and its interval as a whisker, drawn under the numbers of a cell; says nothing aloud. */
import { isBounded, type Estimate } from './interval.ts';

interface Props {
  estimate: Estimate;
  /** What the full width stands for. */
  full: number;
  low_confidence: boolean;
}

export function Whisker({ estimate, full, low_confidence }: Props) {
  const at = (value: number): number => (100 * Math.min(Math.max(value, 0), full)) / full;
  return (
    <span className={low_confidence ? 'whisker low_confidence' : 'whisker'} aria-hidden="true">
      <i className="bar" style={{ width: `${at(estimate.value)}%` }} />
      {isBounded(estimate) && (
        <i
          className={estimate.hi > full ? 'range open' : 'range'}
          style={{ left: `${at(estimate.lo)}%`, width: `${at(estimate.hi) - at(estimate.lo)}%` }}
        />
      )}
    </span>
  );
}
