/**
 * Trees upward from a function: its root is the function, the callees of a node are the frame's callers.
 *
 * The inverted tree of all functions is the API's (`invert`): it has a hundred times as many nodes as the tree.
 */
import type { FlameTree } from '../tree.ts';
import { TreeBuilder } from './builder.ts';
import { outermost } from './occurrences.ts';

/**
 * Who calls the function: all samples that contain it, by the frames above its outermost frame.
 *
 * The total of the root is the function's total, in which a recursive function counts once per stack. The self of a node
 * is the weight of stacks that begin there.
 */
export function callersOf(tree: FlameTree, func: number): FlameTree {
  const builder = new TreeBuilder(tree.functions, func);
  for (const node of outermost(tree, func)) addUpward(builder, tree, node, tree.total[node]);
  return builder.finish();
}

/**
 * Who causes the function's self time: the inverted tree of this function. Of the samples that end in it, the frames above
 * the innermost one.
 */
export function selfCallersOf(tree: FlameTree, func: number): FlameTree {
  const builder = new TreeBuilder(tree.functions, func);
  for (let i = 0; i < tree.n; i++)
    if (tree.func[i] === func && tree.self[i] > 0) addUpward(builder, tree, i, tree.self[i]);
  return builder.finish();
}

/** Add the callers of a frame below the root. */
function addUpward(builder: TreeBuilder, tree: FlameTree, node: number, weight: number): void {
  let above = 0;
  for (let i = tree.parent[node]; i >= 0 && tree.func[i] >= 0; i = tree.parent[i])
    above = builder.callee(above, tree.func[i]);
  builder.add(above, weight);
}
