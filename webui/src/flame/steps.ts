/** Navigation with the arrow keys. Each function returns the same node if there is no next one. */
import type { FlameTree } from './tree.ts';

/** The heaviest callee. */
export function stepIn(tree: FlameTree, node: number): number {
  return node + 1 < tree.end[node] ? node + 1 : node;
}

/** The caller. */
export function stepOut(tree: FlameTree, node: number): number {
  return tree.parent[node] >= 0 ? tree.parent[node] : node;
}

/** The next lighter callee of the same caller. */
export function stepRight(tree: FlameTree, node: number): number {
  const p = tree.parent[node];
  return p >= 0 && tree.end[node] < tree.end[p] ? tree.end[node] : node;
}

/** The next heavier callee of the same caller. */
export function stepLeft(tree: FlameTree, node: number): number {
  const p = tree.parent[node];
  if (p < 0) return node;
  let before = node;
  for (let i = p + 1; i < node; i = tree.end[i]) before = i;
  return before;
}

/** The next (+1) or previous (-1) of `nodes` in preorder, with wraparound; -1 if there are none. */
export function stepMatch(nodes: readonly number[], from: number, direction: 1 | -1): number {
  if (nodes.length === 0) return -1;
  if (direction > 0) return nodes.find((i) => i > from) ?? nodes[0];
  return nodes.findLast((i) => i < from) ?? nodes[nodes.length - 1];
}
