/** The call trees of both sides as one: a frame is as wide as the mean of its shares before and after. */
import type { AnswerOf } from '../../api/client.ts';
import type { Colouring } from '../../flame/colouring.ts';
import type { Palette } from '../../flame/palette.ts';
import { plant, type FlameTree } from '../../flame/tree.ts';

export type FlameDiffAnswer = AnswerOf<'/api/v1/flame-diff'>;

export interface DiffTree {
  tree: FlameTree;
  /** Shares of each node, total and self, on both sides. */
  after: Float64Array;
  before: Float64Array;
  selfAfter: Float64Array;
  selfBefore: Float64Array;
}

export function diffTreeOf(answer: FlameDiffAnswer): DiffTree {
  const { nodes, functions, whole, base_whole } = answer;
  const shares = (weights: readonly number[], of: number): Float64Array =>
    Float64Array.from(weights, (weight) => (of > 0 ? weight / of : 0));
  const after = shares(nodes.total, whole);
  const before = shares(nodes.base_total, base_whole);
  const selfAfter = shares(nodes.self, whole);
  const selfBefore = shares(nodes.base_self, base_whole);
  const mean = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, i) => (value + b[i]) / 2);
  const tree = plant({
    functions: functions.map((f) => ({ ...f, effective: null })),
    func: Int32Array.from(nodes.function),
    parent: Int32Array.from(nodes.parent),
    total: mean(after, before),
    self: mean(selfAfter, selfBefore),
  });
  return { tree, after, before, selfAfter, selfBefore };
}

/** Changes below these parts of a frame's time have the next stronger colour each. */
const STEPS = [0.05, 0.15, 0.35, 0.6] as const;

/** −4…4: how much of the frame's time on both sides together is a change; 0: less than a twentieth. */
export function stepOf(after: number, before: number): number {
  if (after + before === 0) return 0;
  const part = (after - before) / (after + before);
  const size = STEPS.filter((step) => Math.abs(part) >= step).length;
  return part < 0 && size > 0 ? -size : size;
}

function colour(step: number, palette: Palette): string {
  if (step === 0) return palette.same;
  return step > 0 ? palette.more[step - 1] : palette.less[-step - 1];
}

const LEGEND: readonly (readonly [number, string])[] = [
  [4, '×4 or more, or new'],
  [2, '×1.4'],
  [0, 'the same'],
  [-2, '×0.7'],
  [-4, '×¼ or less, or gone'],
];

export function changeColouring({ after, before }: DiffTree): Colouring {
  return {
    colourOf: (node, palette) =>
      node === 0 ? palette.root : colour(stepOf(after[node], before[node]), palette),
    legend: LEGEND.map(([step, text]) => ({
      text,
      share: null,
      colour: (palette) => colour(step, palette),
    })),
    hues: new Map(),
  };
}
