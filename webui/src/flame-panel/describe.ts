/** Frames in words. */
import { nameOf, type FlameFunction, type FlameTree } from '../flame/tree.ts';
import { frameAmount, frameShare, shareOf, type FrameScale } from '../estimates/flame.ts';
import { spoken } from '../estimates/words.ts';
import { percent } from '../selection/numbers.ts';

/** One sentence for screen readers. */
export function describe(tree: FlameTree, node: number, scale: FrameScale): string {
  const total = spoken('share', frameShare(tree, node, tree.total[node], scale));
  const self = percent(shareOf(tree.self[node], scale));
  const amount = frameAmount(tree.self[node], scale);
  return `${nameOf(tree, node)}: total ${total}; self ${self}, ${amount}; depth ${tree.depth[node]}`;
}

/** A note on the quality of the name, if there is one. */
export function statusNote(f: FlameFunction): string {
  if (f.kind === 'marker') return 'not code: unwinding stopped here, or this part of the stack is unknown';
  switch (f.status) {
    case 'full':
      return '';
    case 'symtab':
      return 'name from the symbol table, no debug info';
    case 'binary_only':
      return 'no symbols: only the binary is known';
    case 'unknown':
      return 'no symbols and no binary: code generated at run time, or a mapping that no longer exists';
  }
}
