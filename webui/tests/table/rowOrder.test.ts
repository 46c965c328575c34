import { describe, expect, it } from 'vitest';
import type { TableRow } from '../../src/api/types.ts';
import { inOrder, matching, namesOf } from '../../src/table/rowOrder.ts';

function row(key: Record<string, string>, self = 0, total = self): TableRow {
  return { key, self_share: self, total_share: total } as unknown as TableRow;
}
const functions = (rows: readonly TableRow[]): string[] => rows.map((r) => r.key['function']);

describe('order', () => {
  const rows = [
    row({ function: 'b', binary: 'y' }, 0.2, 0.2),
    row({ function: 'a', binary: 'z' }, 0.2, 0.5),
    row({ function: 'c', binary: 'x' }, 0.3, 0.3),
    row({ function: 'Z', binary: 'x' }, 0.1, 0.5),
  ];
  it('sorts by amounts, ties by name in both directions', () => {
    expect(functions(inOrder(rows, '-self'))).toEqual(['c', 'a', 'b', 'Z']);
    expect(functions(inOrder(rows, 'self'))).toEqual(['Z', 'a', 'b', 'c']);
    expect(functions(inOrder(rows, '-total'))).toEqual(['Z', 'a', 'c', 'b']);
  });
  it('sorts names by code points, members of the key in turn', () => {
    expect(functions(inOrder(rows, 'name'))).toEqual(['Z', 'a', 'b', 'c']);
    const same = [row({ function: 'f', binary: 'b' }), row({ function: 'f', binary: 'a' })];
    expect(inOrder(same, 'name').map((r) => r.key['binary'])).toEqual(['a', 'b']);
    // U+FF5E is below U+1F600, but above its first UTF-16 unit.
    expect(functions(inOrder([row({ function: '\u{1F600}' }), row({ function: '\uFF5E' })], 'name'))).toEqual(
      ['\uFF5E', '\u{1F600}'],
    );
  });
  it('takes sums that differ in their last digits as equal', () => {
    const sums = [row({ function: 'b' }, 0.1 + 0.2), row({ function: 'a' }, 0.3)];
    expect(functions(inOrder(sums, '-self'))).toEqual(['a', 'b']);
  });
  it('sorts lines as numbers', () => {
    const lines = [row({ function: 'f', line: '10' }), row({ function: 'f', line: '9' })];
    expect(inOrder(lines, 'name').map((r) => r.key['line'])).toEqual(['9', '10']);
  });
});

describe('search', () => {
  it('looks at names, not at the status, the kind and the line', () => {
    expect(namesOf(row({ function: 'f', status: 'full', kind: 'user', line: '3', version: 'r1' }))).toEqual([
      'f',
      'r1',
    ]);
    const rows = [
      row({ function: 'f', binary: 'libc', status: 'full' }),
      row({ function: 'g', status: 'full' }),
    ];
    expect(functions(matching(rows, (name) => name.includes('lib')))).toEqual(['f']);
    expect(functions(matching(rows, (name) => name.includes('full')))).toEqual([]);
    expect(matching(rows, null)).toBe(rows);
  });
});
