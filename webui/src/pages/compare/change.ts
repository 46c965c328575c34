/** The change of a row between the base and the selection. */
import type { DiffRow } from '../../api/types.ts';

/** Not significant: grey, whatever its size. */
export type Verdict = 'more' | 'less' | 'unsure';

export function verdictOf(row: DiffRow): Verdict {
  if (!row.significant || row.delta === 0) return 'unsure';
  return row.delta > 0 ? 'more' : 'less';
}

/** Shown in addition to the colour. */
export const ARROWS: Readonly<Record<Verdict, string>> = { more: '▲', less: '▼', unsure: '·' };

/** Differences of shares in percentage points: `+1.23`, `−0.40`. */
export function points(delta: number): string {
  const text = Math.abs(100 * delta).toFixed(2);
  if (Number(text) === 0) return delta === 0 ? '0.00' : `${delta > 0 ? '+' : '−'}0.00`;
  return `${delta > 0 ? '+' : '−'}${text}`;
}

/** `new`, `gone`, or the ratio: `×1.60`. Empty if there is none. */
export function ratio(row: DiffRow): string {
  if (row.b_share === 0) return row.a_share === 0 ? '' : 'new';
  if (row.a_share === 0) return 'gone';
  const times = row.a_share / row.b_share;
  return `×${times >= 9.995 ? times.toFixed(0) : times.toFixed(2)}`;
}

/** A probability, formatted: `0.03`, `< 0.001`. */
export function probability(p: number): string {
  return p < 0.001 ? '< 0.001' : p.toPrecision(p < 0.0995 ? 1 : 2);
}

/** The row's verdict as a sentence. */
export function judged(row: DiffRow): string {
  const interval =
    row.lo === null || row.hi === null ? '' : `, interval ${points(row.lo)} to ${points(row.hi)}`;
  const change = `${points(row.delta)} points${interval}`;
  if (row.q === null) return change;
  const q = `q ${row.q < 0.001 ? '' : '= '}${probability(row.q)}`;
  return row.significant ? `${change}; ${q}: significant` : `${change}; ${q}: not significant`;
}

/** Significant changes first, then by size of the change. */
export function bySignificance(rows: readonly DiffRow[]): DiffRow[] {
  return [...rows].sort(
    (x, y) => Number(y.significant) - Number(x.significant) || Math.abs(y.delta) - Math.abs(x.delta),
  );
}
