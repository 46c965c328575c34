/** Builds a tree from frames in any order: equal stacks become one node, totals and the order follow in the end. */
import { plant, type FlameFunction, type FlameTree } from '../tree.ts';

export class TreeBuilder {
  private readonly func: number[];
  private readonly parent: number[] = [-1];
  private readonly self: number[] = [0];
  private readonly cut: number[] = [0];
  private readonly known = new Map<number, number>();

  /** `rootFunction`: position of the root's function; -1 for a tree of all stacks. */
  constructor(
    private readonly functions: FlameFunction[],
    private readonly rootFunction = -1,
  ) {
    this.func = [rootFunction];
  }

  /** The callee of a node; nodes are numbers from 0, the root, in order of their creation. */
  callee(caller: number, func: number): number {
    const key = caller * this.functions.length + func;
    let node = this.known.get(key);
    if (node === undefined) {
      node = this.func.push(func) - 1;
      this.parent.push(caller);
      this.self.push(0);
      this.cut.push(0);
      this.known.set(key, node);
    }
    return node;
  }

  functionOf(node: number): number {
    return this.func[node];
  }

  /** Add weight that ends in the node, and weight of frames cut off below it. */
  add(node: number, self: number, cut = 0): void {
    this.self[node] += self;
    this.cut[node] += cut;
  }

  finish(): FlameTree {
    const n = this.func.length;
    const totals = Float64Array.from(this.self, (self, i) => self + this.cut[i]);
    // Callees are made after their callers.
    for (let i = n - 1; i > 0; i--) totals[this.parent[i]] += totals[i];
    const order = this.preorder(totals);
    const position = new Int32Array(n);
    order.forEach((node, at) => (position[node] = at));
    return plant(
      {
        functions: this.functions,
        func: order.map((node) => this.func[node]),
        parent: order.map((node) => (node === 0 ? -1 : position[this.parent[node]])),
        total: Float64Array.from(order, (node) => totals[node]),
        self: Float64Array.from(order, (node) => this.self[node]),
      },
      this.rootFunction >= 0,
    );
  }

  /** The nodes, callers before callees, heavier siblings first. */
  private preorder(totals: Float64Array): Int32Array {
    const n = totals.length;
    const heaviest = new Int32Array(n).fill(-1);
    const nextLighter = new Int32Array(n).fill(-1);
    const byWeight = Int32Array.from({ length: n }, (_, i) => i).sort(
      (a, b) => totals[a] - totals[b] || b - a,
    );
    for (const node of byWeight) {
      if (node === 0) continue;
      nextLighter[node] = heaviest[this.parent[node]];
      heaviest[this.parent[node]] = node;
    }
    const order = new Int32Array(n);
    const open = [0];
    for (let at = 0; at < n; at++) {
      const node = open.pop()!;
      order[at] = node;
      if (nextLighter[node] >= 0) open.push(nextLighter[node]);
      if (heaviest[node] >= 0) open.push(heaviest[node]);
    }
    return order;
  }
}
