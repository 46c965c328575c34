/** Puts a subtree that was requested with more detail into the tree that it was cut off. */
import { plant, type FlameFunction, type FlameTree } from './tree.ts';

/** The functions' ids on the way to a node: what the API calls `root`. */
export function pathOf(tree: FlameTree, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i > 0; i = tree.parent[i]) path.push(tree.functions[tree.func[i]].id);
  return path.reverse();
}

/** The node at the end of a path of ids; -1 if the tree has none. */
export function nodeAtPath(tree: FlameTree, path: readonly number[]): number {
  let node = 0;
  for (const id of path) {
    let callee = node + 1;
    while (callee < tree.end[node] && tree.functions[tree.func[callee]].id !== id) callee = tree.end[callee];
    if (callee >= tree.end[node]) return -1;
    node = callee;
  }
  return node;
}

/**
 * The tree with `finer` in place of the subtree of `node`.
 *
 * The weight of `node` stays: if samples have arrived between the two answers, `finer` is scaled to it. Costs one pass
 * over both trees.
 */
export function graft(tree: FlameTree, node: number, finer: FlameTree): FlameTree {
  const after = tree.end[node];
  const more = finer.n - (after - node);
  const n = tree.n + more;
  const { functions, position } = joined(tree.functions, finer.functions);
  const factor = finer.total[0] > 0 ? tree.total[node] / finer.total[0] : 0;

  const total = new Float64Array(n);
  const self = new Float64Array(n);
  for (const [to, of, add] of [
    [total, tree.total, finer.total],
    [self, tree.self, finer.self],
  ] as const) {
    to.set(of.subarray(0, node));
    to.set(factor === 1 ? add : add.map((weight) => weight * factor), node);
    to.set(of.subarray(after), node + finer.n);
  }
  const func = new Int32Array(n);
  func.set(tree.func.subarray(0, node));
  for (let i = 1; i < finer.n; i++) func[node + i] = position[finer.func[i]];
  func[node] = tree.func[node];
  func.set(tree.func.subarray(after), node + finer.n);
  const parent = new Int32Array(n);
  parent.set(tree.parent.subarray(0, node));
  for (let i = 1; i < finer.n; i++) parent[node + i] = node + finer.parent[i];
  parent[node] = tree.parent[node];
  for (let i = after; i < tree.n; i++) {
    const p = tree.parent[i];
    parent[i + more] = p < after ? p : p + more;
  }
  return plant({ functions, func, parent, total, self }, tree.func[0] >= 0);
}

/** The functions of both, by id; `position`: of each of `added`. */
function joined(
  known: readonly FlameFunction[],
  added: readonly FlameFunction[],
): { functions: FlameFunction[]; position: Int32Array } {
  const functions = [...known];
  const at = new Map(known.map(({ id }, k) => [id, k]));
  const position = Int32Array.from(added, (f) => {
    let k = at.get(f.id);
    if (k === undefined) {
      k = functions.push(f) - 1;
      at.set(f.id, k);
    }
    return k;
  });
  return { functions, position };
}
