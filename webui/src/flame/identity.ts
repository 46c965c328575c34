/**
 * A key for a node that survives new data: a hash over the function ids from the root to it.
 *
 * A refresh changes a node's position but not its stack, and the ids are the database's. So a link keeps
 * its zoom.
 */
import type { FlameTree } from './tree.ts';

/** Two 32-bit lanes per node: among 300 000 stacks one lane would have ten collisions, two have none. */
export interface Identities {
  high: Uint32Array;
  low: Uint32Array;
}

const memory = new WeakMap<FlameTree, Identities>();

/** Computed on first use and cached with the tree: 300 000 nodes take some 5 ms. */
export function identities(tree: FlameTree): Identities {
  let known = memory.get(tree);
  if (known === undefined) {
    const high = new Uint32Array(tree.n);
    const low = new Uint32Array(tree.n);
    high[0] = 0x811c9dc5;
    low[0] = 0x9e3779b9;
    for (let i = 1; i < tree.n; i++) {
      const p = tree.parent[i];
      const id = tree.functions[tree.func[i]].id;
      high[i] = scramble(Math.imul(high[p], 0x01000193) ^ id);
      low[i] = scramble(Math.imul(low[p] ^ 0x5bd1e995, 0x85ebca6b) + id);
    }
    known = { high, low };
    memory.set(tree, known);
  }
  return known;
}

/** Keep identities that were computed elsewhere, in a worker. */
export function rememberIdentities(tree: FlameTree, known: Identities): void {
  memory.set(tree, known);
}

/** 16 hexadecimal digits; empty for the root, which needs no key. */
export function nodeKey(tree: FlameTree, i: number): string {
  if (i <= 0) return '';
  const { high, low } = identities(tree);
  return high[i].toString(16).padStart(8, '0') + low[i].toString(16).padStart(8, '0');
}

/** The node with that key; -1 if this tree has none. */
export function findNode(tree: FlameTree, key: string): number {
  if (key === '') return 0;
  if (!/^[0-9a-f]{16}$/.test(key)) return -1;
  const { high, low } = identities(tree);
  const h = parseInt(key.slice(0, 8), 16);
  const l = parseInt(key.slice(8), 16);
  for (let i = 1; i < tree.n; i++) if (high[i] === h && low[i] === l) return i;
  return -1;
}

/** The finalizer of MurmurHash3: every input bit reaches every output bit. */
function scramble(x: number): number {
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
