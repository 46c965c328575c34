/** The instructions of a function with what the view needs to find its way in them. */
import type { components } from '../../api/schema.gen.ts';

export type DisassemblyAnswer = components['schemas']['DisassemblyAnswer'];
export type InstructionRow = DisassemblyAnswer['rows'][number];

/** A row of the view: an instruction, or the source line that the instructions below it are of. */
export interface ListingItem {
  /** Number of the instruction; of a source line, the first below it. */
  row: number;
  isLine: boolean;
}

export interface Listing {
  rows: readonly InstructionRow[];
  items: readonly ListingItem[];
  /** Row numbers by address. */
  at: ReadonlyMap<string, number>;
  /** Item numbers of instructions by address. */
  itemAt: ReadonlyMap<string, number>;
  /** Row numbers of the hot instructions, ascending. */
  hot: number[];
  /** The largest share of an instruction. */
  most: number;
  /** Addresses that jumps within the listing go to. */
  targets: ReadonlySet<string>;
}

/** An instruction is hot from this part of the hottest one's share. */
const HOT = 0.1;

export function listingOf(rows: readonly InstructionRow[]): Listing {
  const most = Math.max(0, ...rows.map(({ share }) => share));
  const at = new Map(rows.map(({ address }, k) => [address, k]));
  const items = rows.flatMap((_, row) => [
    ...(beginsLine(rows, row) ? [{ row, isLine: true }] : []),
    { row, isLine: false },
  ]);
  return {
    rows,
    items,
    at,
    itemAt: new Map(items.flatMap(({ row, isLine }, k) => (isLine ? [] : [[rows[row].address, k] as const]))),
    most,
    hot: rows.flatMap(({ share }, k) => (share > 0 && share >= HOT * most ? [k] : [])),
    targets: new Set(rows.flatMap(({ target }) => (target !== null && at.has(target) ? [target] : []))),
  };
}

/** The hot row after a row, or before it; around the ends. -1: there is none. */
export function nextHotRow({ hot }: Pick<Listing, 'hot'>, row: number, step: 1 | -1): number {
  if (hot.length === 0) return -1;
  if (step > 0) return hot.find((at) => at > row) ?? hot[0];
  return (row < 0 ? undefined : hot.findLast((at) => at < row)) ?? hot.at(-1)!;
}

/** Whether the source line differs from that of the instruction above, so that it is shown. */
export function beginsLine(rows: readonly InstructionRow[], k: number): boolean {
  const [row, above] = [rows[k], rows[k - 1]];
  if (row.line === null) return false;
  return (
    above === undefined || above.line !== row.line || above.file !== row.file || above.inlined !== row.inlined
  );
}

/** Files of the instructions: those with most samples first, then those with most instructions. */
export function filesOf(rows: readonly InstructionRow[]): string[] {
  const costs = new Map<string, { share: number; count: number }>();
  for (const { file, line, share } of rows) {
    if (file === null || line === null) continue;
    const known = costs.get(file) ?? { share: 0, count: 0 };
    costs.set(file, { share: known.share + share, count: known.count + 1 });
  }
  return [...costs].sort(([, a], [, b]) => b.share - a.share || b.count - a.count).map(([file]) => file);
}

/** Base name and line, as people write it. */
export function placeOf({ file, line }: Pick<InstructionRow, 'file' | 'line'>): string {
  return line === null ? '' : `${(file ?? '').split('/').at(-1)}:${line}`;
}

/** What a jump or call within the listing goes to: the direction, and the source line there. */
export function jumpOf({ rows, at }: Pick<Listing, 'rows' | 'at'>, row: InstructionRow): string | null {
  const target = row.target === null ? undefined : at.get(row.target);
  if (target === undefined) return null;
  return `${target > at.get(row.address)! ? '↓' : '↑'} ${placeOf(rows[target])}`.trimEnd();
}
