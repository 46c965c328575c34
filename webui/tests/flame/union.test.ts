import { describe, expect, it } from 'vitest';
import { reaches, unionOf } from '../../src/flame/union.ts';
import { randomTree, tree } from './grow.ts';

describe('unionOf', () => {
  const recursive = tree(100, [
    [0, 'walk', 60],
    [1, 'walk', 50],
    [2, 'leaf', 10],
    [0, 'idle', 30],
    [4, 'walk', 5],
  ]);

  it('counts a match below a match once', () => {
    const found = unionOf(recursive, (f) => f.name === 'walk');
    expect(found).toMatchObject({ total: 65, frames: 3, functions: 1, nodes: [1, 5] });
  });

  it('counts functions that are in the tree only', () => {
    const pruned = {
      ...recursive,
      functions: [...recursive.functions, { ...recursive.functions[0], name: 'walker' }],
    };
    expect(unionOf(pruned, (f) => f.name.startsWith('walk')).functions).toBe(1);
  });

  it('finds nothing without harm', () => {
    expect(unionOf(recursive, () => false)).toMatchObject({ total: 0, frames: 0, functions: 0, nodes: [] });
  });

  it('reaches frames above and below a match, and no others', () => {
    const walks = unionOf(recursive, (f) => f.name === 'walk');
    expect([0, 1, 2, 3, 4, 5].filter((i) => reaches(walks, recursive, i))).toEqual([0, 1, 2, 3, 4, 5]);
    const leaves = unionOf(recursive, (f) => f.name === 'leaf');
    expect([0, 1, 2, 3, 4, 5].filter((i) => reaches(leaves, recursive, i))).toEqual([0, 1, 2, 3]);
    expect(
      reaches(
        unionOf(recursive, () => false),
        recursive,
        0,
      ),
    ).toBe(false);
  });

  it('equals the weight of all stacks with a match, summed leaf by leaf', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const t = randomTree(seed, 500);
      const wanted = new Set([seed % 12, (5 * seed) % 12]);
      let expected = 0;
      for (let i = 0; i < t.n; i++) {
        let hit = false;
        for (let a = i; a > 0; a = t.parent[a]) hit ||= wanted.has(t.func[a]);
        if (hit) expected += t.self[i];
      }
      expect(unionOf(t, (f) => wanted.has(f.id)).total).toBe(expected);
    }
  });
});
