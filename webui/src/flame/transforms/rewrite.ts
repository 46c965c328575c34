import type { FlameTree } from '../tree.ts';
import type { TreeBuilder } from './builder.ts';

/** The node that a frame becomes, below what its caller became; null: the frame and all below it are left out. */
export type Rule = (caller: number, func: number) => number | null;

/** Copy the subtree of `root`, which becomes the node `into` of the builder. */
export function rewrite(tree: FlameTree, builder: TreeBuilder, root: number, into: number, rule: Rule): void {
  const became = new Int32Array(tree.end[root] - root);
  became[0] = into;
  builder.add(into, tree.self[root], tree.cut[root]);
  for (let i = root + 1; i < tree.end[root];) {
    const node = rule(became[tree.parent[i] - root], tree.func[i]);
    if (node === null) {
      i = tree.end[i];
      continue;
    }
    became[i - root] = node;
    builder.add(node, tree.self[i], tree.cut[i]);
    i++;
  }
}
