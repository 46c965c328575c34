/** Units of figures: how values and their intervals are written. */
import type { Estimate } from '../../estimates/interval.ts';
import { count, significant } from '../../selection/numbers.ts';

export interface Unit {
  /** The number without its unit. */
  digits: (value: number) => string;
  /** Written once, after the number: ` %`. */
  suffix: string;
}

const minus = (text: string): string => text.replace(/^-/, '−');

export const SHARE: Unit = { digits: (v) => minus((100 * v).toFixed(1)), suffix: ' %' };
export const FINE_SHARE: Unit = { digits: (v) => minus((100 * v).toFixed(2)), suffix: ' %' };
export const RATIO: Unit = { digits: (v) => minus(v.toFixed(2)), suffix: '' };
export const FINE_RATIO: Unit = { digits: (v) => minus(v.toFixed(3)), suffix: '' };
export const MHZ: Unit = { digits: count, suffix: ' MHz' };
export const SECONDS: Unit = { digits: significant, suffix: ' s' };
export const NUMBER: Unit = { digits: (v) => large(v), suffix: '' };
export const NATS: Unit = { digits: (v) => v.toFixed(2), suffix: ' nats' };
export const GIGABYTES: Unit = { digits: significant, suffix: ' GB/s' };
export const LINES: Unit = { digits: significant, suffix: ' M lines/s' };
export const REQUESTS: Unit = { digits: significant, suffix: ' requests/s' };

const LARGE: readonly [number, string][] = [
  [1e18, 'E'],
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k'],
];

/** Three digits with an SI prefix: `2.36 E` cycles. */
function large(value: number): string {
  if (value < 0) return `−${large(-value)}`;
  for (const [per, prefix] of LARGE)
    if (value >= per) return `${significant(value / (prefix === 'k' ? 1e3 : per))} ${prefix}`;
  return significant(value);
}

export function write(value: number, unit: Unit): string {
  return unit.digits(value) + unit.suffix;
}

/** `(58.0–64.0)`; with an open end `(at least 58.0)`; empty without an interval. */
export function range({ lo, hi }: Estimate, unit: Unit): string {
  if (lo !== null && hi !== null) {
    const [low, high] = [unit.digits(lo), unit.digits(hi)];
    return `(${low}${low.startsWith('−') || high.startsWith('−') ? ' to ' : '–'}${high})`;
  }
  if (lo !== null) return `(at least ${unit.digits(lo)})`;
  return hi === null ? '' : `(at most ${unit.digits(hi)})`;
}

/** `61.0 % (58.0–64.0)`; a dash without a value. */
export function figure(estimate: Estimate | null, unit: Unit): string {
  if (estimate === null) return '–';
  return `${write(estimate.value, unit)} ${range(estimate, unit)}`.trim();
}
