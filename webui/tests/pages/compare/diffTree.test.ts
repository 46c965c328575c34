import { describe, expect, it } from 'vitest';
import {
  changeColouring,
  diffTreeOf,
  stepOf,
  type FlameDiffAnswer,
} from '../../../src/pages/compare/diffTree.ts';
import { LIGHT } from '../../../src/flame/palette.ts';

const f = (id: number, name: string) => ({
  id,
  name,
  file: '',
  binary: 'b',
  status: 'full' as const,
  kind: 'user' as const,
});
/** all → main → (grew, shrank, new); 100 core-seconds after, 50 before. */
const ANSWER = {
  whole: 100,
  base_whole: 50,
  functions: [f(0, 'all'), f(1, 'main'), f(2, 'grew'), f(3, 'shrank'), f(4, 'new')],
  nodes: {
    function: [0, 1, 2, 3, 4],
    parent: [-1, 0, 1, 1, 1],
    total: [100, 100, 60, 10, 10],
    self: [0, 20, 60, 10, 10],
    base_total: [50, 50, 10, 30, 0],
    base_self: [0, 10, 10, 30, 0],
    delta: [0, 0, 0.4, -0.5, 0.1],
  },
} as unknown as FlameDiffAnswer;

describe('the trees of both sides', () => {
  it('are as wide as the mean of both shares', () => {
    const { tree, after, before } = diffTreeOf(ANSWER);
    expect([...tree.total]).toEqual([1, 1, 0.4, 0.35, 0.05]);
    expect(after[2]).toBe(0.6);
    expect(before[2]).toBe(0.2);
    for (let node = 0; node < tree.n; node++)
      expect(after[node] - before[node]).toBeCloseTo(ANSWER.nodes.delta[node]);
  });

  it('have colours by the direction and the size of the change', () => {
    const shown = diffTreeOf(ANSWER);
    const { colourOf } = changeColouring(shown);
    expect([1, 2, 3, 4].map((node) => colourOf(node, LIGHT))).toEqual([
      LIGHT.same,
      LIGHT.more[2],
      LIGHT.less[3],
      LIGHT.more[3],
    ]);
    expect([stepOf(1, 1.01), stepOf(1, 0.8), stepOf(0, 0)]).toEqual([0, 1, 0]);
  });

  it('of an empty side have no shares', () => {
    const { after, before } = diffTreeOf({ ...ANSWER, base_whole: 0 });
    expect(before.every((share) => share === 0)).toBe(true);
    expect(after[0]).toBe(1);
  });
});
