import { describe, expect, it } from 'vitest';
import { calleesOf, focusSubtree } from '../../../src/flame/transforms/callees.ts';
import { callersOf, selfCallersOf } from '../../../src/flame/transforms/callers.ts';
import { collapseRecursion, dropFunction, mergeFunction } from '../../../src/flame/transforms/edits.ts';
import { outermost, positionOf } from '../../../src/flame/transforms/occurrences.ts';
import { plant, type FlameTree } from '../../../src/flame/tree.ts';
import { unionOf } from '../../../src/flame/union.ts';
import { randomTree, tree } from '../grow.ts';

/** A sample's frames, outermost first, without the root of all; `cut`: its innermost frames were cut off. */
interface Stack {
  frames: number[];
  cut: boolean;
  weight: number;
}

function stacksOf(t: FlameTree): Stack[] {
  const stacks: Stack[] = [];
  for (let i = 0; i < t.n; i++) {
    const frames: number[] = [];
    for (let a = i; a >= 0 && t.func[a] >= 0; a = t.parent[a]) frames.unshift(t.func[a]);
    if (t.self[i] > 0) stacks.push({ frames, cut: false, weight: t.self[i] });
    if (t.cut[i] > 0) stacks.push({ frames, cut: true, weight: t.cut[i] });
  }
  return stacks;
}

/** Weight by stack. */
function folded(stacks: Stack[]): Map<string, number> {
  const weights = new Map<string, number>();
  for (const { frames, cut, weight } of stacks) {
    const key = `${frames.join('/')}${cut ? ' cut' : ''}`;
    weights.set(key, (weights.get(key) ?? 0) + weight);
  }
  return new Map([...weights].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A random tree of integer weights, with many recursions, of which light frames are cut off. */
function grown(seed: number): FlameTree {
  const whole = randomTree(seed, 400, 5);
  const kept: number[] = [];
  for (let i = 0; i < whole.n;) {
    if (seed % 2 === 0 || whole.total[i] > 0.002 * whole.total[0]) kept.push(i++);
    else i = whole.end[i];
  }
  const at = new Map(kept.map((i, k) => [i, k]));
  return plant({
    functions: whole.functions,
    func: Int32Array.from(kept, (i) => whole.func[i]),
    parent: Int32Array.from(kept, (i) => (i === 0 ? -1 : at.get(whole.parent[i])!)),
    total: Float64Array.from(kept, (i) => whole.total[i]),
    self: Float64Array.from(kept, (i) => whole.self[i]),
  });
}

const SEEDS = Array.from({ length: 60 }, (_, k) => k + 1);

/** Each transform, and the same on a list of stacks. */
const TRANSFORMS: [string, (t: FlameTree, f: number) => FlameTree, (stack: Stack, f: number) => Stack[]][] = [
  [
    'callersOf',
    callersOf,
    ({ frames, weight }, f) => {
      const at = frames.indexOf(f);
      return at < 0 ? [] : [{ frames: frames.slice(0, at + 1).reverse(), cut: false, weight }];
    },
  ],
  [
    'selfCallersOf',
    selfCallersOf,
    ({ frames, cut, weight }, f) =>
      cut || frames.at(-1) !== f ? [] : [{ frames: frames.toReversed(), cut, weight }],
  ],
  [
    'calleesOf',
    calleesOf,
    ({ frames, ...rest }, f) =>
      frames.includes(f) ? [{ frames: frames.slice(frames.indexOf(f)), ...rest }] : [],
  ],
  [
    'mergeFunction',
    mergeFunction,
    ({ frames, ...rest }, f) => [{ frames: frames.filter((g) => g !== f), ...rest }],
  ],
  [
    'collapseRecursion',
    (t) => collapseRecursion(t),
    ({ frames, ...rest }) => [{ frames: frames.filter((g, k) => g !== frames[k - 1]), ...rest }],
  ],
  [
    'collapseRecursion of one function',
    collapseRecursion,
    ({ frames, ...rest }, f) => [
      { frames: frames.filter((g, k) => g !== f || frames[k - 1] !== f), ...rest },
    ],
  ],
  ['dropFunction', dropFunction, (stack, f) => (stack.frames.includes(f) ? [] : [stack])],
];

describe.each(TRANSFORMS)('%s', (_, transform, ofStack) => {
  it('does with the tree what it does with each stack', () => {
    for (const seed of SEEDS) {
      const t = grown(seed);
      const f = seed % 5;
      const expected = folded(stacksOf(t).flatMap((stack) => ofStack(stack, f)));
      expect(folded(stacksOf(transform(t, f)))).toEqual(expected);
    }
  });
});

describe('totals', () => {
  it('are kept by transforms that leave no stack out', () => {
    for (const seed of SEEDS) {
      const t = grown(seed);
      for (const kept of [mergeFunction(t, 1), collapseRecursion(t)]) expect(kept.total[0]).toBe(t.total[0]);
    }
  });

  it('of a function are the same among its callers, its callees, and in what its removal takes away', () => {
    for (const seed of SEEDS) {
      const t = grown(seed);
      const f = seed % 5;
      const { total } = unionOf(t, ({ id }) => id === f);
      expect(callersOf(t, f).total[0]).toBe(total);
      expect(calleesOf(t, f).total[0]).toBe(total);
      expect(t.total[0] - dropFunction(t, f).total[0]).toBe(total);
      let self = 0;
      for (let i = 0; i < t.n; i++) if (t.func[i] === f) self += t.self[i];
      expect(selfCallersOf(t, f).total[0]).toBe(self);
    }
  });
});

it('focuses on a subtree with its weights', () => {
  for (const seed of SEEDS) {
    const t = grown(seed);
    const node = seed % t.n;
    const part = focusSubtree(t, node);
    expect([...part.total]).toEqual([...t.total.slice(node, t.end[node])]);
    expect([...part.cut]).toEqual([...t.cut.slice(node, t.end[node])]);
    expect(part.func[0]).toBe(t.func[node]);
    expect(part.maxDepth).toBe(Math.max(...t.depth.slice(node, t.end[node])) - t.depth[node]);
  }
});

it('has the function itself as the root, and readable callers and callees', () => {
  const t = tree(100, [
    [0, 'main', 90],
    [1, 'parse', 60],
    [2, 'parse', 20],
    [3, 'malloc', 15],
    [1, 'build', 25],
    [5, 'malloc', 10],
  ]);
  const malloc = positionOf(t, t.functions.find((f) => f.name === 'malloc')!.id);
  const names = (of: FlameTree): string[] =>
    Array.from({ length: of.n }, (_, i) => `${of.depth[i]} ${of.functions[of.func[i]].name} ${of.total[i]}`);
  expect(names(callersOf(t, malloc))).toEqual([
    '0 malloc 25',
    '1 parse 15',
    '2 parse 15',
    '3 main 15',
    '1 build 10',
    '2 main 10',
  ]);
  expect(names(calleesOf(t, positionOf(t, 101)))).toEqual(['0 parse 60', '1 parse 20', '2 malloc 15']);
  expect(outermost(t, positionOf(t, 101))).toEqual([2]);
  expect(positionOf(t, 4711)).toBe(-1);
});
