/** The instructions of a function with what the view needs to find its way in them. */
import type { components } from '../../api/schema.gen.ts';

export type DisassemblyAnswer = components['schemas']['DisassemblyAnswer'];
export type InstructionRow = DisassemblyAnswer['rows'][number];

export interface Listing {
  rows: readonly InstructionRow[];
  /** Row numbers by address. */
  at: ReadonlyMap<string, number>;
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
  return {
    rows,
    at,
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
