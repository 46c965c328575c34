/** Estimates: a value and, if visits were drawn at random, its confidence interval. */

export interface Estimate {
  value: number;
  /** Ends of the 95 % interval; null without a random design. */
  lo: number | null;
  hi: number | null;
}

/** An estimate with an interval. */
export type Bounded = Estimate & { lo: number; hi: number };

export function isBounded(estimate: Estimate): estimate is Bounded {
  return estimate.lo !== null && estimate.hi !== null;
}

/** Whether the interval includes zero. */
export function reachesZero(estimate: Estimate): boolean {
  return isBounded(estimate) && estimate.lo <= 0;
}

/** A value without an interval. */
export function exact(value: number): Estimate;
export function exact(value: number | null): Estimate | null;
export function exact(value: number | null): Estimate | null {
  return value === null ? null : { value, lo: null, hi: null };
}

/** The estimate in another unit. */
export function times(estimate: Estimate, factor: number): Estimate {
  const { value, lo, hi } = estimate;
  return {
    value: value * factor,
    lo: lo === null ? null : lo * factor,
    hi: hi === null ? null : hi * factor,
  };
}

const Z = 1.959963984540054; // 97.5 % of a normal distribution lie below

/**
 * Wilson's 95 % interval of a share.
 *
 * `effective` is the number of independent draws that would estimate the share as precisely as the visits do.
 * It is far below the number of samples, because samples of one machine resemble each other. Without it there
 * is no interval.
 */
export function wilson(share: number, effective: number | null): Estimate {
  if (effective === null || !(effective > 0)) return { value: share, lo: null, hi: null };
  const p = Math.min(1, Math.max(0, share));
  const z2 = (Z * Z) / effective;
  const middle = (p + z2 / 2) / (1 + z2);
  const half = (Math.sqrt((p * (1 - p)) / effective + (z2 / effective) * 0.25) * Z) / (1 + z2);
  // At 0 and 1, rounding would leave a tiny gap between the share and its bound.
  return {
    value: share,
    lo: p === 0 ? 0 : Math.max(0, middle - half),
    hi: p === 1 ? 1 : Math.min(1, middle + half),
  };
}
