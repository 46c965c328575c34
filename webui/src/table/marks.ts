/** The frames that a row refers to in the flame graph: `function:17`, `file:malloc.c`, `binary:libc.so.6`. */
import type { TableRow } from '../api/types.ts';
import type { FlameFunction } from '../flame/tree.ts';

/** The common fields of rows of all tables. */
export type Keyed = Pick<TableRow, 'key' | 'function_id'>;

/** The mark of a row, or null if its rows are not made of frames (an application, a machine …). */
export function markOf(row: Keyed, by: readonly string[]): string | null {
  if (by.length !== 1) return null;
  if (by[0] === 'function') return row.function_id == null ? null : `function:${row.function_id}`;
  if (by[0] === 'file' || by[0] === 'binary') return `${by[0]}:${row.key[by[0]]}`;
  return null;
}

/** Whether rows are made of frames, for which self and total differ. */
export function isOfFrames(by: readonly string[]): boolean {
  return by.some((key) => key === 'function' || key === 'file' || key === 'binary');
}

/** null for an invalid mark. */
export function matchesMark(mark: string): ((f: FlameFunction) => boolean) | null {
  const colon = mark.indexOf(':');
  const value = mark.slice(colon + 1);
  switch (mark.slice(0, Math.max(0, colon))) {
    case 'function':
      return (f) => String(f.id) === value;
    case 'file':
      return (f) => f.file === value;
    case 'binary':
      return (f) => f.binary === value;
    default:
      return null;
  }
}

/** Matcher of the find field: plain text in any case, or a regular expression (with capitals: case-sensitive). */
export function matchesFind(find: string, regex: boolean): ((name: string) => boolean) | 'invalid' | null {
  if (find === '') return null;
  if (!regex) {
    const wanted = find.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  try {
    const pattern = new RegExp(find, /[A-Z]/.test(find) ? '' : 'i');
    return (name) => pattern.test(name);
  } catch {
    return 'invalid';
  }
}

/** The text of a row's first column. */
export function titleOf(row: Keyed, by: readonly string[]): string {
  return by.map((b) => row.key[b] || '(none)').join(' · ');
}
