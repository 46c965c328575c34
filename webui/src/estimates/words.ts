/** Estimates in words, for tooltips and for those who hear the page. */
import { plural } from '../selection/numbers.ts';
import { isBounded, reachesZero, type Estimate } from './interval.ts';
import { phrase, write, writeRange, type Measure } from './measure.ts';

/** What stands in small print beside a value, in its unit: `11.00–13.70`; of nothing seen `≤ 0.02 %`; or nothing. */
export function bracket(measure: Measure, estimate: Estimate): string {
  if (!isBounded(estimate)) return '';
  const { value, lo, hi } = estimate;
  return value === 0 ? `≤ ${write(measure, hi)}` : writeRange(measure, value, lo, hi).text;
}

/** `12.34 %, 95 % interval 11.00 to 13.70 %`. */
export function spoken(measure: Measure, estimate: Estimate | null): string {
  if (estimate === null) return 'not known here';
  const value = phrase(measure, estimate.value);
  if (!isBounded(estimate)) return value;
  if (estimate.value === 0) return `${value} seen, 95 % upper bound ${write(measure, estimate.hi)}`;
  const { text, unit } = writeRange(measure, estimate.value, estimate.lo, estimate.hi, ' to ');
  return `${value}, 95 % interval ${text}${unit}`;
}

/** `221 visits on 184 machines`: whom an amount was seen at, as far as the answer knows. */
export function seenIn(visits: number | null, machines: number | null): string {
  const on = machines === null ? '' : plural(machines, 'machine');
  if (visits === null) return on;
  return plural(visits, 'visit') + (on && ` on ${on}`);
}

export const FEW = 'Few machines stand behind this row, so its interval was widened.';
export const REACHES_ZERO = 'The interval reaches zero: it may be nothing at all.';

/** What must be said of an estimate before anyone believes it; empty if nothing. */
export function caution(estimate: Estimate, few: boolean): string {
  if (few) return FEW;
  return estimate.value > 0 && reachesZero(estimate) ? REACHES_ZERO : '';
}
