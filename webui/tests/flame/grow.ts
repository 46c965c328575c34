/** Trees for tests: written by hand, or grown at random from a seed. */
import { plant, type FlameColumns, type FlameFunction, type FlameTree } from '../../src/flame/tree.ts';

export function fn(name: string, more: Partial<FlameFunction> = {}): FlameFunction {
  return { id: 0, name, file: '', binary: 'app', status: 'full', kind: 'user', effective: null, ...more };
}

/** `[parent, name, total]` per node after the root, in preorder; selfs are what the callees leave over. */
export function columns(root: number, nodes: readonly (readonly [number, string, number])[]): FlameColumns {
  const names = [...new Set(nodes.map(([, name]) => name))];
  const total = Float64Array.from([root, ...nodes.map(([, , t]) => t)]);
  const self = total.slice();
  nodes.forEach(([parent], k) => {
    self[parent] -= total[k + 1];
  });
  return {
    functions: names.map((name, k) => fn(name, { id: 100 + k })),
    func: Int32Array.from([-1, ...nodes.map(([, name]) => names.indexOf(name))]),
    parent: Int32Array.from([-1, ...nodes.map(([parent]) => parent)]),
    total,
    self,
  };
}

export function tree(root: number, nodes: readonly (readonly [number, string, number])[]): FlameTree {
  return plant(columns(root, nodes));
}

/** A small, fast generator; the same seed gives the same numbers on every machine. */
export function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A random tree of at most `n` nodes with integer weights, so that sums are exact. */
export function randomTree(seed: number, n: number, functions = 12): FlameTree {
  const next = random(seed);
  const func: number[] = [];
  const parent: number[] = [];
  const total: number[] = [];
  const self: number[] = [];
  const grow = (caller: number, weight: number, depth: number): void => {
    const me = func.length;
    func.push(caller < 0 ? -1 : Math.floor(next() * functions));
    parent.push(caller);
    total.push(weight);
    self.push(weight);
    const parts: number[] = [];
    let left = weight;
    while (depth < 20 && left > 1 && parts.length < 5 && next() < 0.8) {
      const part = 1 + Math.floor(next() * (left - 1));
      parts.push(part);
      left -= part;
    }
    for (const part of parts.sort((a, b) => b - a)) {
      if (func.length >= n) break;
      self[me] -= part;
      grow(me, part, depth + 1);
    }
  };
  grow(-1, 1 << 20, 0);
  return plant({
    functions: Array.from({ length: functions }, (_, k) => fn(`f${k}`, { id: k })),
    func: Int32Array.from(func),
    parent: Int32Array.from(parent),
    total: Float64Array.from(total),
    self: Float64Array.from(self),
  });
}
