/** The frames that match a search or a selected row, and the share of all samples with such frames. */
import type { FlameFunction, FlameTree } from './tree.ts';

export interface Union {
  /** 1 per matching function, by position in `functions`. */
  hit: Uint8Array;
  /** Number of matching functions with frames in the tree. */
  functions: number;
  frames: number;
  /** Weight of all samples with at least one matching frame: a match below a match counts once. */
  total: number;
  /** The outermost matching nodes, in preorder. */
  nodes: number[];
}

/** Whether a match lies in the node's subtree, or above the node. */
export function reaches(union: Union, tree: FlameTree, node: number): boolean {
  return union.nodes.some((i) => (i <= node ? tree.end[i] > node : i < tree.end[node]));
}

/** Each name is tested once, not once per frame. */
export function unionOf(tree: FlameTree, matches: (f: FlameFunction) => boolean): Union {
  const hit = new Uint8Array(tree.functions.length);
  let any = false;
  tree.functions.forEach((f, k) => {
    if (matches(f)) {
      hit[k] = 1;
      any = true;
    }
  });
  const seen = new Set<number>();
  const nodes: number[] = [];
  let frames = 0;
  let total = 0;
  let covered = 0; // end of the latest outermost match's subtree
  if (any) {
    for (let i = 1; i < tree.n; i++) {
      if (!hit[tree.func[i]]) continue;
      frames++;
      seen.add(tree.func[i]);
      if (i < covered) continue;
      total += tree.total[i];
      covered = tree.end[i];
      nodes.push(i);
    }
  }
  return { hit, functions: seen.size, frames, total, nodes };
}
