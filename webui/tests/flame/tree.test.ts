import { describe, expect, it } from 'vitest';
import { BadFlame, nameOf, plant } from '../../src/flame/tree.ts';
import { columns, randomTree, tree } from './grow.ts';

const NODES = [
  [0, 'main', 60],
  [1, 'parse', 50],
  [2, 'malloc', 10],
  [0, 'idle', 30],
  [4, 'parse', 5],
] as const;

describe('plant', () => {
  it('derives edges, extents and depths from preorder', () => {
    const t = tree(100, NODES);
    expect([...t.start]).toEqual([0, 0, 0, 0, 60, 60]);
    expect([...t.end]).toEqual([6, 4, 4, 4, 6, 6]);
    expect([...t.depth]).toEqual([0, 1, 2, 3, 1, 2]);
    expect(t.maxDepth).toBe(3);
    expect(nameOf(t, 0)).toBe('all');
    expect(nameOf(t, 5)).toBe('parse');
  });

  it('takes a lone root: a selection without samples', () => {
    const t = tree(0, []);
    expect([t.n, t.maxDepth, t.end[0]]).toEqual([1, 0, 1]);
  });

  it('keeps callees within their caller and siblings apart, for any tree', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const t = randomTree(seed, 400);
      const wrong: number[] = [];
      for (let i = 1; i < t.n; i++) {
        const p = t.parent[i];
        const next = t.end[i];
        const right =
          t.start[i] >= t.start[p] &&
          t.start[i] + t.total[i] <= t.start[p] + t.total[p] &&
          t.depth[i] === t.depth[p] + 1 &&
          i > p &&
          next <= t.end[p] &&
          (next >= t.end[p] || t.start[next] === t.start[i] + t.total[i]);
        if (!right) wrong.push(i);
      }
      expect(wrong).toEqual([]);
    }
  });

  it('finds what the server has cut off: what is neither self nor in a callee', () => {
    const whole = columns(100, NODES);
    whole.self[1] -= 4; // of main, 60: parse 50, self 10
    expect([...plant(whole).cut]).toEqual([0, 4, 0, 0, 0, 0]);
  });

  it('has a function at the root if it is the tree of one', () => {
    const whole = columns(100, NODES);
    whole.func[0] = 1;
    expect(nameOf(plant(whole, true), 0)).toBe('parse');
    whole.func[0] = 1;
    expect(nameOf(plant(whole), 0)).toBe('all');
  });

  it.each([
    ['no nodes', (c: ReturnType<typeof columns>) => ({ ...c, total: new Float64Array(0) }), /no root/],
    ['a short column', (c) => ({ ...c, self: c.self.slice(1) }), /differ in length/],
    ['a root with a caller', (c) => ((c.parent[0] = 0), c), /not the root/],
    ['a caller that is closed', (c) => ((c.parent[5] = 2), c), /does not follow/],
    ['a caller that comes later', (c) => ((c.parent[2] = 4), c), /does not follow/],
    ['a function that is not there', (c) => ((c.func[3] = 99), c), /names function 99/],
    ['a second root', (c) => ((c.func[3] = -1), c), /names function -1/],
    ['a negative weight', (c) => ((c.total[3] = -1), c), /impossible weight/],
    ['a weight that is no number', (c) => ((c.total[3] = NaN), c), /impossible weight/],
    ['more self than total', (c) => ((c.self[3] = 11), c), /impossible weight/],
    [
      'siblings out of order',
      (c) => ((c.total[1] = 20), (c.self[1] = 0), (c.total[2] = 20), (c.self[2] = 0), c),
      /heavier than the sibling before/,
    ],
    [
      'callees heavier than their caller',
      (c) => ((c.total[0] = 80), (c.self[0] = 0), c),
      /lighter than its callees/,
    ],
  ] as const satisfies readonly (readonly [
    string,
    (c: ReturnType<typeof columns>) => ReturnType<typeof columns>,
    RegExp,
  ])[])('refuses %s', (_, spoil, reason) => {
    const spoilt = spoil(columns(100, NODES));
    expect(() => plant(spoilt)).toThrow(reason);
    expect(() => plant(spoilt)).toThrow(BadFlame);
  });
});
