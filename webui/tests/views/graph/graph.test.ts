import { describe, expect, it } from 'vitest';
import { fitted, showing, zoomed } from '../../../src/views/graph/camera.ts';
import {
  drawnGraph,
  neighboursOf,
  pathThrough,
  type CallGraphAnswer,
} from '../../../src/views/graph/graph.ts';
import { layOut } from '../../../src/views/graph/layout.ts';

const node = (id: number, total_share: number, self_share: number) => ({
  id,
  name: `f${id}`,
  total_share,
  self_share,
});
const edge = (caller: number, callee: number, share: number) => ({ caller, callee, share, residual: false });
/** main → parse → malloc, main → malloc, parse → parse */
const ANSWER = {
  nodes: [node(1, 1, 0), node(2, 0.6, 0.1), node(3, 0.5, 0.5)],
  edges: [edge(0, 1, 0.6), edge(1, 2, 0.4), edge(0, 2, 0.1), edge(1, 1, 0.05)],
} as unknown as CallGraphAnswer;

describe('the drawing of a call graph', () => {
  const graph = drawnGraph(ANSWER);

  it('sizes functions by total, colours them by self and draws calls by weight', () => {
    expect(graph.nodes.map(({ font }) => font)).toEqual(
      [...graph.nodes.map(({ font }) => font)].sort((a, b) => b - a),
    );
    expect(graph.nodes.map(({ heat }) => Number(heat.toFixed(3)))).toEqual([0, 0.447, 1]);
    expect(graph.edges[0].stroke).toBe(9);
    expect(graph.edges[2].stroke).toBeCloseTo(1 + 8 / 6);
  });

  it('knows the neighbours of a function', () => {
    expect(neighboursOf(graph, 0)).toEqual(new Set([0, 1, 2]));
    expect(neighboursOf(graph, 1)).toEqual(new Set([0, 1, 2]));
    expect(neighboursOf({ edges: graph.edges.slice(0, 1) }, 2)).toEqual(new Set([2]));
  });

  it('lies without overlap, callers above callees', () => {
    const { boxes, arcs, width, height } = layOut(graph.nodes, graph.edges);
    expect(boxes[0].y).toBeLessThan(boxes[1].y);
    expect(boxes[1].y).toBeLessThan(boxes[2].y);
    expect(arcs.map((points) => points.length > 1)).toEqual([true, true, true, false]);
    boxes.forEach(({ x, y }, k) => {
      expect(x - graph.nodes[k].width / 2).toBeGreaterThanOrEqual(0);
      expect(x + graph.nodes[k].width / 2).toBeLessThanOrEqual(width);
      expect(y + graph.nodes[k].height / 2).toBeLessThanOrEqual(height);
    });
  });

  it('lays out cycles and single functions', () => {
    const box = { width: 10, height: 10 };
    expect(layOut([box], []).boxes).toHaveLength(1);
    const cycle = layOut(
      [box, box],
      [
        { from: 0, to: 1, weight: 1 },
        { from: 1, to: 0, weight: 1 },
      ],
    );
    expect(cycle.arcs.every((points) => points.length > 1)).toBe(true);
  });

  it('ends its paths at the last point', () => {
    const points = [
      { x: 0, y: 0 },
      { x: 5, y: 5 },
      { x: 0, y: 10 },
      { x: 2, y: 20 },
    ];
    expect(pathThrough(points).endsWith('2.0,20.0')).toBe(true);
    expect(pathThrough(points.slice(0, 2))).toBe('M0.0,0.0L5.0,5.0');
    expect(pathThrough([])).toBe('');
  });
});

describe('the camera', () => {
  const layout = {
    width: 1000,
    height: 500,
    boxes: [
      { x: 300, y: 10 },
      { x: 500, y: 400 },
    ],
    arcs: [],
  };
  const view = { width: 800, height: 600 };

  it('shows the whole graph, or the top of one that is too large', () => {
    expect(fitted(layout, view)).toEqual({ scale: 0.8, x: 0, y: 100 });
    const large = fitted({ ...layout, width: 10_000, height: 9_000 }, view);
    expect(large.scale).toBe(0.45);
    expect(large.x + 300 * large.scale).toBeCloseTo(400);
    expect(large.y).toBe(0);
  });

  it('zooms around a point', () => {
    const before = { scale: 1, x: 10, y: 20 };
    const after = zoomed(before, 2, 110, 220);
    expect(after.scale).toBe(2);
    expect((110 - after.x) / after.scale).toBeCloseTo((110 - before.x) / before.scale);
    expect(zoomed(before, 1e9, 0, 0).scale).toBe(4);
  });

  it('moves the least to show a point', () => {
    const camera = { scale: 1, x: 0, y: 0 };
    expect(showing(camera, { x: 400, y: 300 }, view)).toEqual(camera);
    expect(showing(camera, { x: 900, y: 300 }, view)).toEqual({ scale: 1, x: -180, y: 0 });
  });
});
