/** An estimate with its interval: `12.3 % (11.0–13.7)`. */
import type { Estimate } from '../estimates/interval.ts';
import { write, type Measure } from '../estimates/measure.ts';
import { bracket, spoken } from '../estimates/words.ts';

interface Props {
  /** null: the answer has none. */
  estimate: Estimate | null;
  measure: Measure;
}

export function EstimateText({ estimate, measure }: Props) {
  if (estimate === null) return <span title="not available">–</span>;
  const interval = bracket(measure, estimate);
  return (
    <span className="estimate" title={spoken(measure, estimate)}>
      <b>{write(measure, estimate.value)}</b>
      {interval !== '' && <span className="bracket"> {interval}</span>}
    </span>
  );
}
