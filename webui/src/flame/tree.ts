/**
 * A prefix tree of stacks in columns: node i is the i-th in depth-first preorder, node 0 the root.
 *
 * Columns instead of objects, because 300 000 frames as objects cost 200 MB and a second of the
 * browser's time; as typed arrays they cost 15 MB and nothing to decode.
 *
 * The order encodes the structure: the subtree of i is the contiguous run [i, end[i]). Siblings are sorted
 * by descending total, so after the first invisible sibling all others are invisible too.
 */

/** The quality of a function's name. */
export type Status = 'full' | 'symtab' | 'binary_only' | 'unknown';

export interface FlameFunction {
  id: number;
  name: string;
  file: string;
  binary: string;
  status: Status;
  /** marker: no code; its name states what is missing from the stack there. */
  kind: 'user' | 'kernel' | 'marker';
  /** Independent draws that would estimate its share as precisely as the visits do; null: not known. */
  effective: number | null;
}

export interface FlameTree {
  /** Number of nodes, ≥ 1. */
  n: number;
  functions: FlameFunction[];
  /** Position in `functions`; -1 for the root of a whole tree, whatever function the server sends for it. */
  func: Int32Array;
  /** Preorder position of the caller; -1 for the root. */
  parent: Int32Array;
  /** Weight of the node and all below it: core-seconds, or the event's units. */
  total: Float64Array;
  /** Weight of samples whose leaf this node is. */
  self: Float64Array;
  /** Weight of what the server has cut off below the node: total = self + cut + the callees' totals. */
  cut: Float64Array;
  /** Left edge in the units of `total`; the root's is 0. */
  start: Float64Array;
  /** One past the last node of the subtree. */
  end: Uint32Array;
  /** 0 for the root. */
  depth: Uint16Array;
  maxDepth: number;
}

/** The response is not a valid tree: a fault of the server, or a damaged transfer. */
export class BadFlame extends Error {
  override readonly name = 'BadFlame';
}

export type FlameColumns = Pick<FlameTree, 'functions' | 'func' | 'parent' | 'total' | 'self'>;

/** A tree without its functions, which another thread may hold. */
export type FlameShape = Omit<FlameTree, 'functions'>;

const MAX_DEPTH = 0xffff;
/** Sums of doubles differ by rounding; a larger share of the root is an error. */
const TOLERANCE = 1e-6;
/** A smaller share of the root that a node lacks is a rounding error, not a cut. */
const LEAST_CUT = 1e-9;

/** The tree of these columns, checked. `ofFunction`: the root is a frame of its function, not all stacks. */
export function plant(columns: FlameColumns, ofFunction = false): FlameTree {
  const { functions, ...nodes } = columns;
  return { functions, ...shapeOf(nodes, functions.length, ofFunction) };
}

/**
 * Check the columns and derive edges, extents and depths, in one pass.
 *
 * Drawing relies on the checked properties: preorder, descending siblings, children within their parent.
 */
export function shapeOf(
  columns: Omit<FlameColumns, 'functions'>,
  functions: number,
  ofFunction = false,
): FlameShape {
  const { func, parent, total, self } = columns;
  const n = total.length;
  if (n === 0) throw new BadFlame('the flame graph has no root');
  if (self.length !== n || parent.length !== n || func.length !== n) {
    throw new BadFlame('the columns of the flame graph differ in length');
  }
  if (parent[0] !== -1) throw new BadFlame('the first node is not the root');

  const cut = new Float64Array(n);
  const start = new Float64Array(n);
  const end = new Uint32Array(n);
  const depth = new Uint16Array(n);
  // For each open ancestor, by depth: the node, the start of its next child, and its latest child's total.
  const open: number[] = [];
  const cursor: number[] = [];
  const latest: number[] = [];
  const slack = TOLERANCE * total[0];
  const leastCut = LEAST_CUT * total[0];
  const close = (next: number): void => {
    const i = open.pop()!;
    end[i] = next;
    const lacking = total[i] - self[i] - (cursor[open.length] - start[i]);
    if (lacking > leastCut) cut[i] = lacking;
  };
  let maxDepth = 0;

  for (let i = 0; i < n; i++) {
    const weight = total[i];
    // Written so that NaN fails too.
    if (!(weight >= 0 && self[i] >= 0 && self[i] <= weight + slack && weight < Infinity)) {
      throw new BadFlame(`node ${i} has an impossible weight`);
    }
    if (func[i] >= functions || (func[i] < 0 && i > 0)) {
      throw new BadFlame(`node ${i} names function ${func[i]} of ${functions}`);
    }
    while (open.length > 0 && open[open.length - 1] !== parent[i]) close(i);
    const k = open.length;
    if (i > 0) {
      if (k === 0) throw new BadFlame(`node ${i} does not follow its caller ${parent[i]}`);
      if (k > MAX_DEPTH) throw new BadFlame(`stacks deeper than ${MAX_DEPTH} frames`);
      if (weight > latest[k - 1] + slack)
        throw new BadFlame(`node ${i} is heavier than the sibling before it`);
      start[i] = cursor[k - 1];
      cursor[k - 1] += weight;
      latest[k - 1] = weight;
      const p = parent[i];
      if (cursor[k - 1] > start[p] + total[p] + slack)
        throw new BadFlame(`node ${p} is lighter than its callees`);
    }
    depth[i] = k;
    if (k > maxDepth) maxDepth = k;
    open.push(i);
    cursor[k] = start[i];
    latest[k] = Infinity;
  }
  while (open.length > 0) close(n);
  if (!ofFunction) func[0] = -1;
  return { n, func, parent, total, self, cut, start, end, depth, maxDepth };
}

/** The display name of node i. */
export function nameOf(tree: FlameTree, i: number): string {
  return tree.func[i] < 0 ? 'all' : tree.functions[tree.func[i]].name;
}
