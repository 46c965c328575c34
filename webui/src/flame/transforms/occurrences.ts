import type { FlameTree } from '../tree.ts';

/** Position of a function in `tree.functions` by its id; -1 if the tree has none. */
export function positionOf(tree: FlameTree, functionId: number): number {
  return tree.functions.findIndex(({ id }) => id === functionId);
}

/** The outermost frames of a function, in preorder: each sample with the function is in exactly one of them. */
export function outermost(tree: FlameTree, func: number): number[] {
  const nodes: number[] = [];
  for (let i = 0; i < tree.n;) {
    if (tree.func[i] === func) {
      nodes.push(i);
      i = tree.end[i];
    } else i++;
  }
  return nodes;
}
