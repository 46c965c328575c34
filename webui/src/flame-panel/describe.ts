/** Frames in words. */
import { nameOf, type FlameFunction, type FlameTree } from '../flame/tree.ts';
import { duration, percent, quantity } from '../selection/numbers.ts';

/** A weight in the units of the event. */
export function amount(weight: number, unit: string): string {
  return unit === 'nanoseconds' ? duration(weight) : `${quantity(weight)} ${unit}`;
}

/** One sentence, for those who hear the page. */
export function describe(tree: FlameTree, node: number, unit: string): string {
  const all = tree.total[0] || 1;
  const total = `${percent(tree.total[node] / all)} total`;
  const self = `${percent(tree.self[node] / all)} self, ${amount(tree.self[node], unit)}`;
  return `${nameOf(tree, node)}: ${total}, ${self}, depth ${tree.depth[node]}`;
}

/** How good the name is, where that is worth saying. */
export function statusNote(f: FlameFunction): string {
  if (f.kind === 'marker') return 'no code: here the stack could not be walked on, or nothing is known of it';
  switch (f.status) {
    case 'full':
      return '';
    case 'symtab':
      return 'name from the symbol table, no debug info';
    case 'binary_only':
      return 'no symbols: only the binary is known';
    case 'unknown':
      return 'no symbols and no binary: code made at run time, or a mapping that is gone';
  }
}
