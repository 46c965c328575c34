/** A source file with the cost of its lines. */
import type { components } from '../../api/schema.gen.ts';

type LineRow = components['schemas']['LineRow'];

export interface SourceLine {
  /** From 1. */
  number: number;
  text: string;
  /** null: no sample has the line. */
  cost: LineRow | null;
}

export interface AnnotatedSource {
  lines: SourceLine[];
  /** Numbers of the hot lines, ascending. */
  hot: number[];
  /** The largest total of a line, as a share of the selection; 0 without samples. */
  most: number;
}

/** A line is hot from this part of the hottest line's total, so that a step from one to the next is worth it. */
const HOT = 0.05;
const MOST_HOT = 200;

/** `rows`: the lines of one version of the file. A line past the end of the text gets an empty text. */
export function annotate(text: string, rows: readonly LineRow[]): AnnotatedSource {
  const texts = text.replace(/\r\n/g, '\n').split('\n');
  if (texts.at(-1) === '') texts.pop(); // what follows the last line's end is not a line
  const costs = new Map<number, LineRow>();
  for (const row of rows) if (row.line > 0) costs.set(row.line, heavier(costs.get(row.line), row));
  const last = Math.max(texts.length, ...costs.keys());
  const most = Math.max(0, ...[...costs.values()].map((row) => row.total_share));
  return {
    lines: Array.from({ length: last }, (_, k) => ({
      number: k + 1,
      text: texts[k] ?? '',
      cost: costs.get(k + 1) ?? null,
    })),
    hot: [...costs.values()]
      .filter((row) => row.total_share > 0 && row.total_share >= HOT * most)
      .sort((a, b) => b.total_share - a.total_share)
      .slice(0, MOST_HOT)
      .map((row) => row.line)
      .sort((a, b) => a - b),
    most,
  };
}

/** Rows of several functions may have the same line; their stacks overlap, so totals are not added. */
function heavier(known: LineRow | undefined, row: LineRow): LineRow {
  return known === undefined || row.total_share > known.total_share ? row : known;
}

/** The hot line after `line`, or before it; at the end the first, or the last. 0: there is none. */
export function nextHot({ hot }: Pick<AnnotatedSource, 'hot'>, line: number, step: 1 | -1): number {
  if (hot.length === 0) return 0;
  if (step > 0) return hot.find((number) => number > line) ?? hot[0];
  return hot.findLast((number) => number < line) ?? hot.at(-1)!;
}

export interface Stripe {
  /** Number of the stripe's hottest line. */
  line: number;
  /** Part of the file above it, 0 to 1. */
  at: number;
  /** Its total as a part of the hottest line's. */
  heat: number;
}

/** The file from top to bottom in at most `count` stripes: those that have samples. */
export function stripesOf({ lines, most }: AnnotatedSource, count: number): Stripe[] {
  const stripes = new Map<number, Stripe>();
  for (const { number, cost } of lines) {
    if (cost === null || cost.total_share === 0) continue;
    const at = Math.floor(((number - 1) / lines.length) * count);
    const heat = cost.total_share / most;
    const known = stripes.get(at);
    if (known === undefined || known.heat < heat) stripes.set(at, { line: number, at: at / count, heat });
  }
  return [...stripes.values()];
}
