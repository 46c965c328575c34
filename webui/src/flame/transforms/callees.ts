/** Trees downward from a function or a frame: its root is that function. */
import { plant, type FlameTree } from '../tree.ts';
import { TreeBuilder } from './builder.ts';
import { outermost } from './occurrences.ts';
import { rewrite } from './rewrite.ts';

/** What the function calls: the subtrees of all its outermost frames as one tree. */
export function calleesOf(tree: FlameTree, func: number): FlameTree {
  const builder = new TreeBuilder(tree.functions, func);
  for (const root of outermost(tree, func))
    rewrite(tree, builder, root, 0, (caller, f) => builder.callee(caller, f));
  return builder.finish();
}

/** The subtree of one frame. */
export function focusSubtree(tree: FlameTree, node: number): FlameTree {
  const end = tree.end[node];
  return plant(
    {
      functions: tree.functions,
      func: tree.func.slice(node, end),
      parent: tree.parent.slice(node, end).map((p, k) => (k === 0 ? -1 : p - node)),
      total: tree.total.slice(node, end),
      self: tree.self.slice(node, end),
    },
    tree.func[node] >= 0,
  );
}
