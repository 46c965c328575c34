/** Search and order of rows in the browser: the same as the server's (storage/query/shapes/row_order.py). */
import type { TableRow } from '../api/types.ts';
import type { Sort } from '../app/pages.ts';

/** Members of a key that are no names. */
const NOT_NAMES = new Set(['status', 'kind']);
/** Shares that differ less are equal: the order of summation changes the last digits. */
const DIGITS = 1e12;

/** The texts of a row that a search looks at. */
export function namesOf(row: Pick<TableRow, 'key'>): string[] {
  return Object.entries(row.key).flatMap(([name, text]) =>
    NOT_NAMES.has(name) || name === 'line' ? [] : [text],
  );
}

/** The rows with a name that passes. */
export function matching<Row extends Pick<TableRow, 'key'>>(
  rows: readonly Row[],
  passes: ((name: string) => boolean) | null,
): readonly Row[] {
  return passes === null ? rows : rows.filter((row) => namesOf(row).some(passes));
}

/** The rows in this order; ties are in the order of their names. */
export function inOrder(rows: readonly TableRow[], sort: Sort): TableRow[] {
  if (sort === 'name') return [...rows].sort(byNames);
  const column = sort.endsWith('self') ? 'self_share' : 'total_share';
  const sign = sort.startsWith('-') ? -1 : 1;
  const most = rows.reduce((top, row) => Math.max(top, row[column]), 0) || 1;
  const rounded = new Map(rows.map((row) => [row, Math.round((row[column] / most) * DIGITS)]));
  return [...rows].sort((a, b) => sign * (rounded.get(a)! - rounded.get(b)!) || byNames(a, b));
}

/** By the members of the keys in their order, lines as numbers. */
function byNames(a: TableRow, b: TableRow): number {
  for (const [name, text] of Object.entries(a.key)) {
    if (NOT_NAMES.has(name)) continue;
    const other = b.key[name] ?? '';
    const order = name === 'line' ? Number(text) - Number(other) : byCharacters(text, other);
    if (order !== 0) return order;
  }
  return 0;
}

/** By code points, as Python sorts: JavaScript compares UTF-16 units, which differ beyond U+FFFF. */
function byCharacters(a: string, b: string): number {
  if (a === b) return 0;
  const [these, those] = [Array.from(a), Array.from(b)];
  for (let k = 0; k < Math.min(these.length, those.length); k++) {
    const order = these[k].codePointAt(0)! - those[k].codePointAt(0)!;
    if (order !== 0) return order;
  }
  return these.length - those.length;
}
