/** Trees upward from a function: its root is the function, the callees of a node are the frame's callers. */
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

/** Who causes the function's self time: the samples that end in it, by the frames above the innermost one. */
export function selfCallersOf(tree: FlameTree, func: number): FlameTree {
  const builder = new TreeBuilder(tree.functions, func);
  for (let i = 0; i < tree.n; i++)
    if (tree.func[i] === func && tree.self[i] > 0) addUpward(builder, tree, i, tree.self[i]);
  return builder.finish();
}

/**
 * The inverted tree: all samples by their innermost frame, and above it the callers. What the server has cut off is cut off
 * the root here, because its innermost frames are not known.
 */
export function inverted(tree: FlameTree): FlameTree {
  const builder = new TreeBuilder(tree.functions);
  for (let i = 0; i < tree.n; i++) {
    if (tree.cut[i] > 0) builder.add(0, 0, tree.cut[i]);
    if (!(tree.self[i] > 0)) continue;
    if (tree.func[i] < 0) builder.add(0, tree.self[i]);
    else addUpward(builder, tree, i, tree.self[i], builder.callee(0, tree.func[i]));
  }
  return builder.finish();
}

/** Add the callers of a frame below `at`. */
function addUpward(builder: TreeBuilder, tree: FlameTree, node: number, weight: number, at = 0): void {
  let above = at;
  for (let i = tree.parent[node]; i >= 0 && tree.func[i] >= 0; i = tree.parent[i])
    above = builder.callee(above, tree.func[i]);
  builder.add(above, weight);
}
