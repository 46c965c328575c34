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
/** The nodes of keys that were made: a click asks for the key of a node and then for the node of that key. */
const made = new WeakMap<FlameTree, Map<string, number>>();

/** Of all nodes, cached with the tree: 300 000 take some 10 ms. */
export function identities(tree: FlameTree): Identities {
  let known = memory.get(tree);
  if (known === undefined) {
    const high = new Uint32Array(tree.n);
    const low = new Uint32Array(tree.n);
    high[0] = HIGH;
    low[0] = LOW;
    for (let i = 1; i < tree.n; i++) {
      const p = tree.parent[i];
      const id = tree.functions[tree.func[i]].id;
      high[i] = nextHigh(high[p], id);
      low[i] = nextLow(low[p], id);
    }
    known = { high, low };
    memory.set(tree, known);
  }
  return known;
}

/** 16 hexadecimal digits; empty for the root, which needs no key. Costs the node's depth. */
export function nodeKey(tree: FlameTree, i: number): string {
  if (i <= 0) return '';
  const path: number[] = [];
  for (let at = i; at > 0; at = tree.parent[at]) path.push(tree.functions[tree.func[at]].id);
  let high = HIGH;
  let low = LOW;
  for (const id of path.reverse()) {
    high = nextHigh(high, id);
    low = nextLow(low, id);
  }
  const key = high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
  let keys = made.get(tree);
  if (keys === undefined) made.set(tree, (keys = new Map()));
  keys.set(key, i);
  return key;
}

/** The node with that key; -1 if this tree has none. */
export function findNode(tree: FlameTree, key: string): number {
  if (key === '') return 0;
  if (!/^[0-9a-f]{16}$/.test(key)) return -1;
  const known = made.get(tree)?.get(key);
  if (known !== undefined) return known;
  const { high, low } = identities(tree);
  const h = parseInt(key.slice(0, 8), 16);
  const l = parseInt(key.slice(8), 16);
  for (let i = 1; i < tree.n; i++) if (high[i] === h && low[i] === l) return i;
  return -1;
}

const HIGH = 0x811c9dc5;
const LOW = 0x9e3779b9;

function nextHigh(caller: number, id: number): number {
  return scramble(Math.imul(caller, 0x01000193) ^ id);
}

function nextLow(caller: number, id: number): number {
  return scramble(Math.imul(caller ^ 0x5bd1e995, 0x85ebca6b) + id);
}

/** The finalizer of MurmurHash3: every input bit reaches every output bit. */
function scramble(x: number): number {
  x ^= x >>> 16;
  x = Math.imul(x, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
