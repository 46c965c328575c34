/** Places of nodes and edges, by dagre: callers above callees. Runs in a worker (layoutWorker.ts). */
import { Graph, layout } from '@dagrejs/dagre';

export interface Box {
  width: number;
  height: number;
}

export interface Arc {
  /** Indexes of boxes. Self-calls are not laid out. */
  from: number;
  to: number;
  /** Heavier edges are shorter and straighter: from 1. */
  weight: number;
}

export interface Layout {
  width: number;
  height: number;
  /** The middle of each box. */
  boxes: { x: number; y: number }[];
  /** Points of each arc; empty for a self-call. */
  arcs: { x: number; y: number }[][];
}

export function layOut(boxes: readonly Box[], arcs: readonly Arc[]): Layout {
  const graph = new Graph({ directed: true, multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 46, edgesep: 8, marginx: 16, marginy: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  boxes.forEach((box, k) => graph.setNode(String(k), { ...box }));
  arcs.forEach(({ from, to, weight }, k) => {
    if (from !== to) graph.setEdge(String(from), String(to), { weight }, String(k));
  });
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    boxes: boxes.map((_, k) => {
      const { x, y } = graph.node(String(k)) as { x: number; y: number };
      return { x, y };
    }),
    arcs: arcs.map(({ from, to }, k) =>
      from === to
        ? []
        : ((graph.edge(String(from), String(to), String(k)) as { points: { x: number; y: number }[] })
            .points ?? []),
    ),
  };
}
