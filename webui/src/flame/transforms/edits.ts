/** The whole tree with frames of a function left out or joined. */
import type { FlameTree } from '../tree.ts';
import { TreeBuilder } from './builder.ts';
import { rewrite, type Rule } from './rewrite.ts';

/** Without the function's frames: their self becomes self of their callers, their callees callees of those. */
export function mergeFunction(tree: FlameTree, func: number): FlameTree {
  return rewritten(tree, (builder) => (caller, f) => (f === func ? caller : builder.callee(caller, f)));
}

/** Frames that call themselves directly are joined with their caller; `func`: those of one function only. */
export function collapseRecursion(tree: FlameTree, func?: number): FlameTree {
  return rewritten(tree, (builder) => (caller, f) => {
    const recursive = builder.functionOf(caller) === f && (func === undefined || f === func);
    return recursive ? caller : builder.callee(caller, f);
  });
}

/** Without the stacks that contain the function; their weight is no longer in any total. */
export function dropFunction(tree: FlameTree, func: number): FlameTree {
  return rewritten(tree, (builder) => (caller, f) => (f === func ? null : builder.callee(caller, f)));
}

function rewritten(tree: FlameTree, ruleOf: (builder: TreeBuilder) => Rule): FlameTree {
  const builder = new TreeBuilder(tree.functions, tree.func[0]);
  rewrite(tree, builder, 0, 0, ruleOf(builder));
  return builder.finish();
}
