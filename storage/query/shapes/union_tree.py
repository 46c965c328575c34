"""Two trees of frames as one, which separates nodes of only one tree from nodes that changed."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int64, sorting
from storage.query.shapes.frame_tree import FrameTree


@dataclass(frozen=True, slots=True)
class UnionTree:
    """Columns over the nodes of either tree; node 0 is the root of both, and a parent precedes its children."""

    parent: Int64
    """−1 for the root."""
    depth: Int64
    function: Int64
    places: tuple[Int64, Int64]
    """For each node of the first and of the second tree, its node here."""

    def __len__(self) -> int:
        return len(self.parent)

    def spread(self, side: int, values: Float) -> Float:
        """A column of one of the trees, with 0 for nodes that the tree does not have."""
        found = np.zeros(len(self))
        found[self.places[side]] = values
        return found


def union(one: FrameTree, other: FrameTree) -> UnionTree:
    """The union of both trees: nodes with the same path of functions from the root are one."""
    trees = (one, other)
    places = tuple(np.zeros(len(tree), np.int64) for tree in trees)
    levels = [_by_depth(tree) for tree in trees]
    parents, functions = [np.array([-1])], [one.function[:1]]
    count = 1
    for depth in range(1, max(len(level) for level in levels)):
        nodes = [level[depth] if depth < len(level) else np.zeros(0, np.int64) for level in levels]
        keys = [
            (place[tree.parent[here]] << 32) | tree.function[here]
            for tree, place, here in zip(trees, places, nodes, strict=True)
        ]
        found, which = np.unique(np.concatenate(keys), return_inverse=True)
        for place, here, number in zip(places, nodes, np.split(which, [len(keys[0])]), strict=True):
            place[here] = count + number
        parents.append(found >> 32)
        functions.append(found & 0xFFFFFFFF)
        count += len(found)
    sizes = [len(level) for level in parents]
    return UnionTree(
        np.concatenate(parents),
        np.repeat(np.arange(len(sizes)), sizes),
        np.concatenate(functions),
        (places[0], places[1]),
    )


def _by_depth(tree: FrameTree) -> list[Int64]:
    """The nodes of each depth."""
    order = sorting(tree.depth)
    bounds = np.searchsorted(tree.depth[order], np.arange(1, int(tree.depth.max()) + 1))
    return np.split(order, bounds)
