/** Draws a tree through a view onto a 2D context. */
import type { Colouring } from './colouring.ts';
import { shorten } from './names.ts';
import type { Palette } from './palette.ts';
import { nameOf, type FlameTree } from './tree.ts';
import type { Union } from './union.ts';
import { ROW_HEIGHT, walk, type View } from './view.ts';

export interface Scene {
  tree: FlameTree;
  view: View;
  palette: Palette;
  colouring: Colouring;
  /** Frames to highlight; null without a search or highlight. */
  union: Union | null;
  selected: number;
  /** -1: none. */
  hovered: number;
}

const FONT = '11.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const PADDING = 4;
/** Narrower boxes have no room for readable text. */
const MIN_LABEL_WIDTH = 26;
const GAP = 0.6;

/** Returns the number of boxes drawn. `ratio` is device pixels per CSS pixel. */
export function paint(context: CanvasRenderingContext2D, scene: Scene, ratio: number): number {
  const { tree, view, palette, colouring, union } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.paper;
  context.fillRect(0, 0, view.width, view.height);
  context.font = FONT;
  context.textBaseline = 'middle';
  const characterWidth = context.measureText('MMMMMMMMMM').width / 10;
  let boxes = 0;

  walk(tree, view, {
    frame(node, x, y, width, caller) {
      const lit = union !== null && tree.func[node] >= 0 && union.hit[tree.func[node]] === 1;
      if (lit) context.fillStyle = palette.match;
      else context.fillStyle = caller || union !== null ? palette.dim : colouring.colourOf(node, palette);
      context.fillRect(x, y, Math.max(width - GAP, GAP), ROW_HEIGHT - 1);
      boxes++;
      if (width < MIN_LABEL_WIDTH) return;
      const label = shorten(nameOf(tree, node), Math.floor((width - 2 * PADDING) / characterWidth));
      if (label === '') return;
      context.fillStyle = !lit && (caller || union !== null) ? palette.dimInk : palette.ink;
      context.fillText(label, x + PADDING, y + ROW_HEIGHT / 2);
    },
    sliver(x, y, width) {
      context.fillStyle = union === null ? palette.sliver : palette.dim;
      context.fillRect(x, y, Math.max(width - GAP, 0.4), ROW_HEIGHT - 1);
      boxes++;
    },
  });
  if (union !== null) paintThinMatches(context, scene, union);
  outline(context, scene, scene.hovered, palette.hovered, 1);
  outline(context, scene, scene.selected, palette.selected, 2);
  return boxes;
}

/** Draws a tick for a match too thin for a box of its own, so that no hit is invisible. */
function paintThinMatches(
  context: CanvasRenderingContext2D,
  { tree, view, palette }: Scene,
  union: Union,
): void {
  const scale = view.width / tree.total[view.zoom];
  const left = tree.start[view.zoom];
  const stop = tree.end[view.zoom];
  context.fillStyle = palette.match;
  let latest = '';
  for (const i of union.nodes) {
    if (i <= view.zoom || i >= stop || tree.total[i] * scale >= 1.5) continue;
    const x = Math.floor((tree.start[i] - left) * scale);
    const y = tree.depth[i] * ROW_HEIGHT - view.scroll;
    if (y < -ROW_HEIGHT || y > view.height) continue;
    const at = `${x}:${tree.depth[i]}`; // neighbours within one pixel share one tick
    if (at === latest) continue;
    latest = at;
    context.fillRect(x, view.upward ? view.height - y - ROW_HEIGHT : y, 1.5, ROW_HEIGHT - 1);
  }
}

function outline(
  context: CanvasRenderingContext2D,
  { tree, view }: Scene,
  node: number,
  colour: string,
  thickness: number,
): void {
  if (node < 0) return;
  const isCaller = node < view.zoom && tree.end[node] > view.zoom;
  if (!isCaller && (node < view.zoom || node >= tree.end[view.zoom])) return;
  const scale = view.width / (tree.total[view.zoom] || 1);
  const x = isCaller ? 0 : (tree.start[node] - tree.start[view.zoom]) * scale;
  const width = isCaller ? view.width : tree.total[node] * scale;
  const fromRoot = tree.depth[node] * ROW_HEIGHT - view.scroll;
  const y = view.upward ? view.height - fromRoot - ROW_HEIGHT : fromRoot;
  const inset = thickness / 2;
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.strokeRect(x + inset, y + inset, Math.max(width - GAP - thickness, 1), ROW_HEIGHT - 1 - thickness);
}
