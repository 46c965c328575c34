/** A call graph as it is drawn: labels, sizes, colours and widths, from the answer of `/api/v1/call-graph`. */
import type { components } from '../../api/schema.gen.ts';
import { shorten } from '../../flame/names.ts';
import { percent } from '../../selection/numbers.ts';
import type { Arc, Box } from './layout.ts';

export type CallGraphAnswer = components['schemas']['CallGraphAnswer'];
export type GraphNode = CallGraphAnswer['nodes'][number];
export type GraphEdge = CallGraphAnswer['edges'][number];

export interface DrawnNode extends Box {
  node: GraphNode;
  label: string;
  /** `self 1.2 %, total 4.0 %` */
  amounts: string;
  font: number;
  /** Colour, 0 to 1: self as a part of the largest self. */
  heat: number;
}

export interface DrawnEdge extends Arc {
  edge: GraphEdge;
  /** Pixels. */
  stroke: number;
}

export interface DrawnGraph {
  nodes: DrawnNode[];
  edges: DrawnEdge[];
}

const ROOM = 34;
const FONTS = { least: 11, most: 20 };
/** Width of a character of the monospace font as a part of its size. */
const CHARACTER = 0.61;
const AMOUNT_FONT = 11;
const PADDING = { x: 20, y: 14 };
const STROKES = { least: 1, most: 9 };

export function drawnGraph({ nodes, edges }: Pick<CallGraphAnswer, 'nodes' | 'edges'>): DrawnGraph {
  const mostTotal = Math.max(Number.MIN_VALUE, ...nodes.map((node) => node.total_share));
  const mostSelf = Math.max(Number.MIN_VALUE, ...nodes.map((node) => node.self_share));
  const mostEdge = Math.max(Number.MIN_VALUE, ...edges.map((edge) => edge.share));
  return {
    nodes: nodes.map((node) => {
      const font = FONTS.least + (FONTS.most - FONTS.least) * Math.sqrt(node.total_share / mostTotal);
      const label = shorten(node.name, ROOM) || node.name;
      const amounts = `self ${percent(node.self_share)}, total ${percent(node.total_share)}`;
      const text = Math.max(label.length * font, amounts.length * AMOUNT_FONT) * CHARACTER;
      return {
        node,
        label,
        amounts,
        font,
        heat: Math.sqrt(node.self_share / mostSelf),
        width: Math.ceil(text + PADDING.x),
        height: Math.ceil(1.25 * font + 1.25 * AMOUNT_FONT + PADDING.y),
      };
    }),
    edges: edges.map((edge) => ({
      edge,
      from: edge.caller,
      to: edge.callee,
      weight: 1 + Math.round(9 * (edge.share / mostEdge)),
      stroke: STROKES.least + (STROKES.most - STROKES.least) * (edge.share / mostEdge),
    })),
  };
}

/** Indexes of the node, its callers and its callees. */
export function neighboursOf({ edges }: Pick<DrawnGraph, 'edges'>, at: number): Set<number> {
  const near = new Set([at]);
  for (const { from, to } of edges) {
    if (from === at) near.add(to);
    if (to === at) near.add(from);
  }
  return near;
}

/** A smooth path through the points of an arc. */
export function pathThrough(points: readonly { x: number; y: number }[]): string {
  if (points.length === 0) return '';
  const at = ({ x, y }: { x: number; y: number }): string => `${x.toFixed(1)},${y.toFixed(1)}`;
  let path = `M${at(points[0])}`;
  for (let k = 1; k < points.length - 1; k++) {
    const [here, next] = [points[k], points[k + 1]];
    const end = k === points.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += `Q${at(here)} ${at(end)}`;
  }
  return points.length === 2 ? `${path}L${at(points[1])}` : path;
}

/** A loop at the right side of a box. */
export function loopAt({ x, y }: { x: number; y: number }, { width, height }: Box): string {
  const right = x + width / 2;
  const up = height / 4;
  return `M${right},${y - up}C${right + 26},${y - 2 * up} ${right + 26},${y + 2 * up} ${right},${y + up}`;
}
