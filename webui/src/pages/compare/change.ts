/** The change of a row between the two sides of a comparison, in the page's unit. */
import type { DiffRow } from '../../api/types.ts';
import { percent, significant } from '../../selection/numbers.ts';

/** Not significant: grey, whatever its size. */
export type Verdict = 'more' | 'less' | 'unsure';

/** The units of a comparison: percentage points of shares, cores, or the cost of cores. */
export type Unit = 'share' | 'cores' | 'money';

/** A change in a unit. Verdict and interval come from one test. */
export interface Change {
  before: number;
  after: number;
  delta: number;
  /** null without a random design. */
  lo: number | null;
  hi: number | null;
  verdict: Verdict;
}

const HOURS_PER_MONTH = 730;

/**
 * The row's change; null if the answer does not have it in this unit.
 *
 * Shares: the interval is that of the test of all rows at once, and excludes zero exactly if the row is significant.
 * Cores: the interval is that of this row alone (95 %). `price` is of one core-hour.
 */
export function changeOf(row: DiffRow, unit: Unit, price: number | null): Change | null {
  if (unit === 'share') {
    const { b_share: before, a_share: after, delta, lo, hi } = row;
    const verdict = !row.significant || delta === 0 ? 'unsure' : delta > 0 ? 'more' : 'less';
    return { before, after, delta, lo, hi, verdict };
  }
  const { a_cores, b_cores, cores } = row;
  const factor = unit === 'cores' ? 1 : price === null ? null : price * HOURS_PER_MONTH;
  if (a_cores === null || b_cores === null || cores === null || factor === null) return null;
  const verdict = cores.lo > 0 ? 'more' : cores.hi < 0 ? 'less' : 'unsure';
  return {
    before: b_cores.value * factor,
    after: a_cores.value * factor,
    delta: cores.value * factor,
    lo: cores.lo * factor,
    hi: cores.hi * factor,
    verdict,
  };
}

/** Shown in addition to the colour. */
export const ARROWS: Readonly<Record<Verdict, string>> = { more: '▲', less: '▼', unsure: '·' };

/** One side's amount: `3.71 %`, `22.6`. */
export function side(value: number, unit: Unit): string {
  return unit === 'share' ? percent(value) : significant(value);
}

/** A change with its sign: `+1.23` points, `−0.40` cores. */
export function signed(delta: number, unit: Unit): string {
  const size = Math.abs(delta);
  const text = unit === 'share' ? (100 * size).toFixed(2) : size < 0.005 ? '0.00' : significant(size);
  if (Number(text) === 0 && delta === 0) return '0.00';
  return `${delta > 0 ? '+' : '−'}${text}`;
}

export const UNIT_WORDS: Readonly<Record<Unit, string>> = {
  share: 'percentage points',
  cores: 'cores',
  money: 'per month',
};

/** `new`, `gone`, or the ratio: `×1.60`. Empty if there is none. */
export function ratio({ before, after }: Pick<Change, 'before' | 'after'>): string {
  if (before === 0) return after === 0 ? '' : 'new';
  if (after === 0) return 'gone';
  const times = after / before;
  return `×${times >= 9.995 ? times.toFixed(0) : times.toFixed(2)}`;
}

/** A probability, formatted: `0.03`, `< 0.001`. */
export function probability(p: number): string {
  return p < 0.001 ? '< 0.001' : p.toPrecision(p < 0.0995 ? 1 : 2);
}

/** The row's verdict as a sentence. */
export function judged(row: DiffRow, change: Change, unit: Unit): string {
  const { delta, lo, hi, verdict } = change;
  const interval = lo === null || hi === null ? '' : `, interval ${signed(lo, unit)} to ${signed(hi, unit)}`;
  const text = `${signed(delta, unit)} ${UNIT_WORDS[unit]}${interval}`;
  if (lo === null) return text;
  const word = verdict === 'unsure' ? 'not significant' : 'significant';
  if (unit !== 'share') return `${text}: ${word} at 95 % for this row alone`;
  return row.q === null ? text : `${text}; q ${row.q < 0.001 ? '' : '= '}${probability(row.q)}: ${word}`;
}

export const ONLY = ['all', 'significant', 'slower', 'faster'] as const;
export type Only = (typeof ONLY)[number];
export const ORDERS = ['verdict', 'name', 'before', 'after', 'change', 'ratio'] as const;
export type Order = (typeof ORDERS)[number];

export interface ChangedRow {
  row: DiffRow;
  name: string;
  change: Change;
}

export function isShown({ change: { verdict } }: ChangedRow, only: Only): boolean {
  if (only === 'all') return true;
  return only === 'significant' ? verdict !== 'unsure' : verdict === (only === 'slower' ? 'more' : 'less');
}

/** In the order of a column, `-` first for descending; `verdict`: significant rows first, then by size of change. */
export function inOrder(rows: readonly ChangedRow[], sort: string): ChangedRow[] {
  const descending = sort.startsWith('-');
  const order = ORDERS.find((name) => name === sort.replace(/^-/, '')) ?? 'verdict';
  const size = (r: ChangedRow): number => Math.abs(r.change.delta);
  const sure = (r: ChangedRow): number => Number(r.change.verdict !== 'unsure');
  const times = ({ change: { before, after } }: ChangedRow): number =>
    before === 0 ? Infinity : after / before;
  const by: Readonly<Record<Order, (x: ChangedRow, y: ChangedRow) => number>> = {
    verdict: (x, y) => sure(y) - sure(x) || size(y) - size(x),
    name: (x, y) => x.name.localeCompare(y.name),
    before: (x, y) => x.change.before - y.change.before,
    after: (x, y) => x.change.after - y.change.after,
    change: (x, y) => x.change.delta - y.change.delta,
    ratio: (x, y) => (times(x) === times(y) ? 0 : times(x) - times(y)),
  };
  const sorted = [...rows].sort((x, y) => by[order](x, y) || x.name.localeCompare(y.name));
  return descending ? sorted.reverse() : sorted;
}
