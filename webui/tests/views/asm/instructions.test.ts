import { describe, expect, it } from 'vitest';
import {
  beginsLine,
  filesOf,
  jumpOf,
  listingOf,
  nextHotRow,
  type InstructionRow,
} from '../../../src/views/asm/instructions.ts';

function row(address: string, share: number, more: Partial<InstructionRow> = {}): InstructionRow {
  return {
    address,
    bytes: '90',
    mnemonic: 'nop',
    operands: '',
    target: null,
    target_name: null,
    samples: Math.round(100 * share),
    seconds: null,
    share,
    file: 'a.c',
    line: 1,
    inlined: null,
    ...more,
  };
}

const ROWS = [
  row('0x10', 0),
  row('0x11', 0.5, { line: 2 }),
  row('0x12', 0.04, { line: 2, target: '0x10' }),
  row('0x13', 0.4, { line: 2, inlined: 'g', target: '0x999' }),
];

describe('a listing of instructions', () => {
  const listing = listingOf(ROWS);

  it('knows hot instructions and the targets inside', () => {
    expect(listing.hot).toEqual([1, 3]);
    expect(listing.most).toBe(0.5);
    expect([...listing.targets]).toEqual(['0x10']);
  });

  it('steps through hot instructions around the ends', () => {
    expect([-1, 1, 3].map((at) => nextHotRow(listing, at, 1))).toEqual([1, 3, 1]);
    expect([-1, 1, 3].map((at) => nextHotRow(listing, at, -1))).toEqual([3, 3, 1]);
    expect(nextHotRow({ hot: [] }, 0, 1)).toBe(-1);
  });

  it('shows a source line where it begins', () => {
    expect(ROWS.map((_, k) => beginsLine(ROWS, k))).toEqual([true, true, false, true]);
    expect(beginsLine([row('0x1', 0, { line: null })], 0)).toBe(false);
  });

  it('has source lines above their instructions', () => {
    expect(listing.items.map(({ row, isLine }) => (isLine ? `line ${ROWS[row].line}` : row))).toEqual([
      'line 1',
      0,
      'line 2',
      1,
      2,
      'line 2',
      3,
    ]);
    expect(listing.itemAt.get('0x12')).toBe(4);
  });

  it('names what jumps go to', () => {
    expect(jumpOf(listing, ROWS[2])).toBe('↑ a.c:1');
    expect(jumpOf(listing, ROWS[3])).toBeNull();
  });

  it('has the files with most samples first', () => {
    const rows = [
      row('0x1', 0),
      row('0x2', 0),
      row('0x3', 0.2, { file: 'b.h' }),
      row('0x4', 0, { line: null }),
    ];
    expect(filesOf(rows)).toEqual(['b.h', 'a.c']);
  });
});
