/** A value as a bar and its interval as a whisker, under the numbers of a cell; hidden from screen readers. */
import { isBounded, type Estimate } from './interval.ts';

interface Props {
  estimate: Estimate;
  /** The value at full width. */
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
