/**
 * Positions of frames on the screen. Pure arithmetic, shared by painting and hit-testing, so that a click
 * always hits the frame that is drawn there.
 *
 * Coordinates are CSS pixels from the canvas' top left corner.
 */
import type { FlameTree } from './tree.ts';

export const ROW_HEIGHT = 19;
/** Thinner frames are drawn together as one grey run. */
export const MIN_WIDTH = 0.7;

export interface View {
  width: number;
  height: number;
  /** The node drawn over the full width; its callers precede it, dimmed. */
  zoom: number;
  /** Pixels scrolled away from the root's side. */
  scroll: number;
  /** true: the root is at the bottom (flame); false: at the top (icicle). */
  upward: boolean;
}

/** Top edge of the row at this depth. */
export function rowTop(view: View, depth: number): number {
  const fromRoot = depth * ROW_HEIGHT - view.scroll;
  return view.upward ? view.height - fromRoot - ROW_HEIGHT : fromRoot;
}

/** The depth shown at this height. May be beyond the tree. */
export function depthAt(view: View, y: number): number {
  const fromRoot = view.upward ? view.height - y : y;
  return Math.floor((fromRoot + view.scroll) / ROW_HEIGHT);
}

/** The maximum of `scroll`: the deepest frame of the zoomed subtree is still at the far edge. */
export function maxScroll(view: View, deepest: number): number {
  return Math.max(0, (deepest + 1) * ROW_HEIGHT - view.height);
}

/** Callbacks of `walk`, one for each type of box. */
export interface Boxes {
  /** A frame at least MIN_WIDTH wide. `caller`: one of the frames above the zoomed node. */
  frame(node: number, x: number, y: number, width: number, caller: boolean): void;
  /** All remaining callees of a node, each too thin to draw, or cut off. */
  sliver(x: number, y: number, width: number): void;
}

/**
 * Visit all visible frames, parents before children.
 *
 * The cost is proportional to what is visible: subtrees below the last visible row are skipped, and at the
 * first sibling too thin to see all later ones are skipped (they are sorted by descending weight).
 */
export function walk(tree: FlameTree, view: View, boxes: Boxes): void {
  const { start, end, depth, total, self, cut, parent } = tree;
  const { zoom, width } = view;
  const first = Math.floor(view.scroll / ROW_HEIGHT);
  const last = Math.floor((view.scroll + view.height) / ROW_HEIGHT);
  for (let a = parent[zoom]; a >= 0; a = parent[a]) {
    if (depth[a] >= first && depth[a] <= last) boxes.frame(a, 0, rowTop(view, depth[a]), width, true);
  }
  if (!(total[zoom] > 0)) {
    if (depth[zoom] >= first && depth[zoom] <= last)
      boxes.frame(zoom, 0, rowTop(view, depth[zoom]), width, false);
    return;
  }
  const left = start[zoom];
  const scale = width / total[zoom];
  const stop = end[zoom];
  let i = zoom;
  while (i < stop) {
    const d = depth[i];
    const x = (start[i] - left) * scale;
    const w = total[i] * scale;
    if (w < MIN_WIDTH && i !== zoom) {
      const p = parent[i];
      const rest = (start[p] + total[p] - self[p] - left) * scale - x;
      if (d >= first && d <= last && rest > 0.3) boxes.sliver(x, rowTop(view, d), rest);
      i = end[p];
    } else if (d > last) {
      i = end[i];
    } else {
      if (d >= first) boxes.frame(i, x, rowTop(view, d), w, false);
      const lacking = cut[i] * scale;
      if (lacking > 0.3 && d + 1 >= first && d + 1 <= last)
        boxes.sliver(x + w - self[i] * scale - lacking, rowTop(view, d + 1), lacking);
      i++;
    }
  }
}

/** The frame at this point, or -1 for background and slivers. */
export function nodeAt(tree: FlameTree, view: View, x: number, y: number): number {
  const { start, end, depth, total, parent } = tree;
  const wanted = depthAt(view, y);
  if (wanted < 0 || x < 0 || x >= view.width || y < 0 || y >= view.height) return -1;
  let node = view.zoom;
  if (wanted <= depth[node]) {
    while (depth[node] > wanted) node = parent[node];
    return node;
  }
  if (!(total[view.zoom] > 0)) return -1;
  const scale = total[view.zoom] / view.width;
  const value = start[view.zoom] + x * scale;
  while (depth[node] < wanted) {
    let callee = node + 1;
    const stop = end[node];
    while (callee < stop && value >= start[callee] + total[callee]) callee = end[callee];
    if (callee >= stop || value < start[callee]) return -1;
    node = callee;
  }
  return total[node] < MIN_WIDTH * scale ? -1 : node;
}

/** The depth of the deepest row with visible frames; frames too thin to be drawn do not count. */
export function deepestDrawn(tree: FlameTree, view: View): number {
  let deepest = 0;
  walk(
    tree,
    { ...view, scroll: 0, height: Infinity, upward: false },
    {
      frame: (node) => (deepest = Math.max(deepest, tree.depth[node])),
      sliver: (_, y) => (deepest = Math.max(deepest, y / ROW_HEIGHT)),
    },
  );
  return deepest;
}

/** How many rows are hidden beyond the canvas' edges, also in part, for a tree drawn down to this depth. */
export function hiddenBeyond(view: View, deepest: number): { top: number; bottom: number } {
  const rows = (pixels: number): number => Math.max(0, Math.ceil(pixels / ROW_HEIGHT));
  const root = rows(view.scroll);
  const leaves = rows(maxScroll(view, deepest) - view.scroll);
  return view.upward ? { top: leaves, bottom: root } : { top: root, bottom: leaves };
}

/** The depth of the deepest frame below a node. */
export function deepestBelow(tree: FlameTree, node: number): number {
  if (node === 0) return tree.maxDepth;
  let deepest = tree.depth[node];
  for (let i = node + 1; i < tree.end[node]; i++) if (tree.depth[i] > deepest) deepest = tree.depth[i];
  return deepest;
}
