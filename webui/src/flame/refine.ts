/**
 * Which part of the tree to request next.
 *
 * The first answer has the frames that are at least half a pixel wide; a zoom into a frame requests its subtree with
 * the same resolution, which is put into the tree. So a page that is not zoomed costs the server and the reader's
 * browser a twentieth of all frames.
 */
import { findNode } from './identity.ts';
import { graft, nodeAtPath, pathOf } from './graft.ts';
import type { FlameTree } from './tree.ts';

/** Narrower frames are not requested; view.ts draws frames from MIN_WIDTH on. */
const LEAST_PIXELS = 0.5;
/** Widths are rounded up to these, so that another width of the window is seldom another request. */
const WIDTHS = [512, 1024, 1536, 2048, 3072, 4096] as const;
/** A frame nearly as wide as what was requested has no more detail to show: half a pixel grows to 0.69 of them. */
const NEARLY = 0.72;

/** The least share of a request's root that is visible in a graph of this width; the API's `min_share`. */
export function visibleShare(width: number): number {
  return LEAST_PIXELS / (WIDTHS.find((w) => w >= width) ?? width);
}

/** A subtree that was requested, by the path of its root. */
export interface Refinement {
  path: readonly number[];
  tree: FlameTree;
}

/** The tree with these subtrees, each inside one before it or beside it. A path that is gone is left out. */
export function refined(tree: FlameTree, refinements: readonly Refinement[]): FlameTree {
  let shown = tree;
  for (const { path, tree: finer } of refinements) {
    const node = nodeAtPath(shown, path);
    if (node > 0) shown = graft(shown, node, finer);
  }
  return shown;
}

/**
 * What to request, so that the frame `key` can be shown: the path of a subtree, `whole` if the frame is not in the tree,
 * or null if nothing is missing. `requested`: paths requested before, at this width.
 */
export function missing(
  tree: FlameTree,
  key: string,
  width: number,
  requested: readonly (readonly number[])[],
): readonly number[] | 'whole' | null {
  const node = findNode(tree, key);
  if (node < 0) return 'whole';
  if (node === 0) return null;
  const path = pathOf(tree, node);
  // The smallest subtree that was requested and has this frame: its weight tells which frames were cut off.
  let around = 0;
  for (const other of requested) {
    if (!other.every((id, k) => path[k] === id)) continue;
    const root = nodeAtPath(tree, other);
    if (root > around) around = root;
  }
  if (tree.total[node] > NEARLY * tree.total[around]) return null;
  return hasVisibleCut(tree, node, width) ? path : null;
}

/** Whether frames that were cut off below the node might be visible when it fills this width. */
function hasVisibleCut(tree: FlameTree, node: number, width: number): boolean {
  const least = visibleShare(width) * tree.total[node];
  for (let i = node; i < tree.end[node]; i++) if (tree.cut[i] >= least) return true;
  return false;
}
