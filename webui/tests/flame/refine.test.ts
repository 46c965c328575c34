import { describe, expect, it } from 'vitest';
import { graft, nodeAtPath, pathOf } from '../../src/flame/graft.ts';
import { findNode, nodeKey } from '../../src/flame/identity.ts';
import { missing, refined, visibleShare, type Refinement } from '../../src/flame/refine.ts';
import { plant, type FlameTree } from '../../src/flame/tree.ts';
import { walk } from '../../src/flame/view.ts';
import { fn, random, randomTree, tree } from './grow.ts';

/** A random tree with different functions for siblings, as the server's. */
function randomAnswer(seed: number, n: number): FlameTree {
  let t = randomTree(seed, n);
  for (let more = 1; t.n < 50; more++) t = randomTree(seed + 1000 * more, n);
  const nth = new Int32Array(t.n);
  const func = Int32Array.from(t.func, (_, i) =>
    i === 0 ? -1 : (nth[t.parent[i]]++ * 37 + t.depth[i]) % 211,
  );
  const functions = Array.from({ length: 211 }, (_, k) => fn(`f${k}`, { id: 1000 + k }));
  return plant({ functions, func, parent: t.parent, total: t.total, self: t.self });
}

/** What the server answers: the subtree below a path without frames lighter than this share of its root. */
function answered(whole: FlameTree, path: readonly number[], minShare: number): FlameTree {
  const root = nodeAtPath(whole, path);
  const kept: number[] = [];
  for (let i = root; i < whole.end[root];) {
    if (i === root || whole.total[i] >= minShare * whole.total[root]) kept.push(i++);
    else i = whole.end[i];
  }
  const at = new Map(kept.map((i, k) => [i, k]));
  // The server lists the functions of its answer only.
  const used = [...new Set(kept.map((i) => whole.func[i]).filter((k) => k >= 0))].reverse();
  return plant({
    functions: used.map((k) => whole.functions[k]),
    func: Int32Array.from(kept, (i) => used.indexOf(whole.func[i])),
    parent: Int32Array.from(kept, (i) => (i === root ? -1 : at.get(whole.parent[i])!)),
    total: Float64Array.from(kept, (i) => whole.total[i]),
    self: Float64Array.from(kept, (i) => whole.self[i]),
  });
}

/** The frames drawn when zoomed to a key: name, position, width. */
function drawn(t: FlameTree, key: string, width: number): unknown[] {
  const boxes: unknown[] = [];
  const zoom = findNode(t, key);
  const view = { width, height: 1e6, zoom, scroll: 0, upward: false };
  walk(t, view, {
    frame: (node, x, y, w) => boxes.push([nodeKey(t, node), x.toFixed(3), y, w.toFixed(3)]),
    sliver: () => undefined,
  });
  return boxes;
}

/** As the page: the tree after all requests for this frame, which are added to `known`. */
function zoomed(whole: FlameTree, known: Refinement[], key: string, width: number): FlameTree {
  const share = visibleShare(width);
  const first = answered(whole, [], share);
  for (let k = 0; k < 30; k++) {
    const shown = refined(first, known);
    const next = missing(shown, key, width, known.map(({ path }) => path)); // prettier-ignore
    if (next === null) return shown;
    if (next === 'whole') return whole;
    known.push({ path: next, tree: answered(whole, next, share) });
  }
  throw new Error('requests without end');
}

describe('refinement', () => {
  it('shows what the whole tree would, at each step of a way down', () => {
    let requests = 0;
    for (let seed = 1; seed <= 25; seed++) {
      const whole = randomAnswer(seed, 3000);
      const next = random(seed);
      const known: Refinement[] = [];
      let shown = refined(answered(whole, [], visibleShare(500)), []);
      expect(drawn(shown, '', 500)).toEqual(drawn(whole, '', 500));
      for (let step = 0, node = 0; step < 6 && node + 1 < shown.end[node]; step++) {
        node += 1 + Math.floor(next() * Math.min(40, shown.end[node] - node - 1));
        const key = nodeKey(shown, node);
        shown = zoomed(whole, known, key, 500);
        const seen = new Set(drawn(shown, key, 500).map(String));
        for (const box of drawn(whole, key, 500)) expect(seen).toContain(String(box));
        expect(shown.n).toBeLessThan(whole.n);
        node = findNode(shown, key);
      }
      requests += known.length;
    }
    expect(requests).toBeGreaterThan(25);
  });

  it('requests a subtree once', () => {
    const whole = randomAnswer(3, 3000);
    const known: Refinement[] = [];
    const first = answered(whole, [], visibleShare(500));
    const deep = nodeKey(first, first.n - 1);
    zoomed(whole, known, deep, 500);
    const before = known.length;
    zoomed(whole, known, '', 500);
    zoomed(whole, known, deep, 500);
    expect(known).toHaveLength(before);
  });

  it('requests the whole tree for a link to a frame that was cut off', () => {
    const whole = randomAnswer(7, 3000);
    const first = answered(whole, [], 0.05);
    const gone = Array.from({ length: whole.n }, (_, i) => nodeKey(whole, i)).find(
      (k) => findNode(first, k) < 0,
    )!;
    expect(missing(first, gone, 500, [])).toBe('whole');
    expect(missing(first, '', 500, [])).toBe(null);
  });

  it('rounds widths up, so that all that is visible is requested', () => {
    expect(visibleShare(1000)).toBe(0.5 / 1024);
    expect(visibleShare(1024)).toBe(0.5 / 1024);
    expect(visibleShare(9000)).toBe(0.5 / 9000);
  });
});

describe('graft', () => {
  it('is the whole tree if the subtree is whole, wherever it is', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const whole = randomAnswer(seed, 600);
      const node = 1 + (seed % (whole.n - 1));
      const path = pathOf(whole, node);
      const at = nodeAtPath(whole, path); // the heaviest of siblings of one function
      const cut = answered(whole, [], 0.02);
      const there = nodeAtPath(cut, path);
      if (there < 0) continue;
      const grown = graft(cut, there, answered(whole, path, 0));
      const keys = (t: FlameTree, from: number): string[] =>
        Array.from({ length: t.end[from] - from }, (_, k) => `${nodeKey(t, from + k)} ${t.total[from + k]}`);
      expect(keys(grown, nodeAtPath(grown, path))).toEqual(keys(whole, at));
      expect(grown.total[0]).toBe(whole.total[0]);
      for (let i = 0; i < cut.n; i++) expect(findNode(grown, nodeKey(cut, i))).toBeGreaterThanOrEqual(0);
    }
  });

  it('keeps the weight of the node if the finer answer has more', () => {
    const base = tree(100, [
      [0, 'a', 60],
      [0, 'b', 30],
    ]);
    const finer = tree(120, [[0, 'c', 90]]);
    finer.functions[0].id = 555;
    const grown = graft(base, 1, finer);
    expect([...grown.total]).toEqual([100, 60, 45, 30]);
    expect([...grown.self]).toEqual([10, 15, 45, 30]);
    expect(grown.functions.map((f) => f.name)).toEqual(['a', 'b', 'c']);
  });
});
