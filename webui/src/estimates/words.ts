/** Estimates in words, for tooltips and screen readers. */
import type { Totals } from '../api/types.ts';
import { count, plural } from '../selection/numbers.ts';
import { isBounded, reachesZero, type Estimate } from './interval.ts';
import { phrase, write, writeRange, type Measure } from './measure.ts';

/** Small print beside a value, in its unit: `11.00–13.70`; `≤ 0.02 %` without observations; or empty. */
export function bracket(measure: Measure, estimate: Estimate): string {
  if (!isBounded(estimate)) return '';
  const { value, lo, hi } = estimate;
  return value === 0 ? `≤ ${write(measure, hi)}` : writeRange(measure, value, lo, hi).text;
}

/** `12.34 %, 95 % interval 11.00 to 13.70 %`. */
export function spoken(measure: Measure, estimate: Estimate | null): string {
  if (estimate === null) return 'not available';
  const value = phrase(measure, estimate.value);
  if (!isBounded(estimate)) return value;
  if (estimate.value === 0) return `${value} observed, 95 % upper bound ${write(measure, estimate.hi)}`;
  const { text, unit } = writeRange(measure, estimate.value, estimate.lo, estimate.hi, ' to ');
  return `${value}, 95 % interval ${text}${unit}`;
}

/** The profiles and machines with an amount, as far as the response contains them. */
export type Seen = Pick<Totals, 'visits' | 'machines' | 'path'>;

/** `221 profiles, about 184 machines`. */
export function seenIn(seen: Seen): string {
  const on = onMachines(seen);
  if (seen.visits === null) return on;
  return plural(seen.visits, 'profile') + (on && `, ${on}`);
}

/** `184 machines`, `about 184 machines`, `many machines`; empty if their number is not known. */
export function onMachines(seen: Seen): string {
  if (seen.machines === null) return areMany(seen) ? 'many machines' : '';
  return (isAbout(seen) ? 'about ' : '') + plural(seen.machines, 'machine');
}

/** The number of machines for a column: `184`, `≈ 184`, `many`, or a dash. */
export function machinesColumn(seen: Seen): string {
  if (seen.machines === null) return areMany(seen) ? 'many' : '–';
  return (isAbout(seen) ? '≈ ' : '') + count(seen.machines);
}

/** Merged cells count machines approximately; one profile is always of exactly one machine. */
function isAbout({ visits, path }: Seen): boolean {
  return path !== 'chunks' && visits !== 1;
}

/** Too many machines for merged cells to count. */
function areMany({ visits, machines, path }: Seen): boolean {
  return machines === null && path !== 'chunks' && visits !== null;
}

export const FEW = 'One or two profiles contribute most of this row, so its interval is wide.';
export const REACHES_ZERO = 'The interval includes zero: the true value may be zero.';

/** A warning about the estimate; empty if there is none. */
export function caution(estimate: Estimate, low_confidence: boolean): string {
  if (low_confidence) return FEW;
  return estimate.value > 0 && reachesZero(estimate) ? REACHES_ZERO : '';
}
