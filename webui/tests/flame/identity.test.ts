import { describe, expect, it } from 'vitest';
import { findNode, identities, nodeKey } from '../../src/flame/identity.ts';
import { plant } from '../../src/flame/tree.ts';
import { columns, randomTree } from './grow.ts';

describe('nodeKey', () => {
  it('leads back to the node', () => {
    const t = randomTree(4, 800);
    for (let i = 0; i < t.n; i += 13) expect(t.func[findNode(t, nodeKey(t, i))]).toBe(t.func[i]);
    expect(nodeKey(t, 0)).toBe('');
    expect(findNode(t, '')).toBe(0);
  });

  it('names the stack, whatever its weight and place in the tree', () => {
    const before = plant(
      columns(100, [
        [0, 'a', 60],
        [1, 'b', 20],
        [0, 'c', 30],
      ]),
    );
    const after = columns(100, [
      [0, 'c', 70],
      [0, 'a', 25],
      [2, 'b', 20],
    ]);
    // The same functions have the same ids, wherever the answer lists them.
    const ids = new Map(before.functions.map((f) => [f.name, f.id]));
    const later = plant({
      ...after,
      functions: after.functions.map((f) => ({ ...f, id: ids.get(f.name)! })),
    });
    expect(findNode(later, nodeKey(before, 2))).toBe(3);
    expect(findNode(later, nodeKey(before, 3))).toBe(1);
  });

  it('tells recursion levels apart', () => {
    const t = plant(
      columns(100, [
        [0, 'f', 90],
        [1, 'f', 80],
        [2, 'f', 70],
      ]),
    );
    expect(new Set([1, 2, 3].map((i) => nodeKey(t, i))).size).toBe(3);
  });

  it('finds nothing for a stack that is gone or a key that is none', () => {
    const t = randomTree(5, 50);
    expect(findNode(t, '0123456789abcdef')).toBe(-1);
    expect(findNode(t, '<script>')).toBe(-1);
  });

  it('does not collide over many stacks', () => {
    const t = randomTree(6, 60_000, 400);
    const { high, low } = identities(t);
    const stacks = new Set<string>();
    const keys = new Set<string>();
    const path: string[] = [];
    for (let i = 0; i < t.n; i++) {
      path.length = t.depth[i];
      path.push(String(t.func[i]));
      stacks.add(path.join('/'));
      keys.add(`${high[i]}:${low[i]}`);
    }
    expect(keys.size).toBe(stacks.size);
  });
});
