"""Trees of frames before pruning: from callers to callees, from callees to callers, and below labels."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from storage.arrays import Bool, Float, Int64, sum_at, weight_at
from storage.query.stacks import prefix_tree
from storage.query.stacks.stack_tree import Shape


@dataclass(frozen=True, slots=True)
class FrameTree:
    """Columns over nodes; node 0 is the root, and a parent precedes its children."""

    parent: Int64
    """−1 for the root."""
    depth: Int64
    function: Int64
    """Function ids; negative for a label's value (`below_labels`); for the root 0, or the function it stands for."""
    total: Int64
    """Observed units."""
    own: Int64
    total_weight: Float
    """Units of the fleet."""
    own_weight: Float
    in_preorder: bool = field(default=False, kw_only=True)
    """Depth-first; else level by level, or tree after tree."""

    def __len__(self) -> int:
        return len(self.parent)

    def heaviest(self, most: int, min_share: float) -> Int64:
        """The `most` heaviest nodes, ascending, without those below `min_share` of the root; with every parent.

        Among nodes of equal weight the first ones are taken. A caller weighs at least as much as its callees and
        precedes them, so parents are always included.
        """
        weights = self.total_weight
        enough = weights >= min_share * weights[prefix_tree.ROOT]
        if most < len(self):
            least = np.partition(weights, len(self) - most)[len(self) - most]
            heavier = weights > least
            as_heavy = np.flatnonzero(weights == least)[: most - int(np.count_nonzero(heavier))]
            heavier[as_heavy] = True
            enough &= heavier
        enough[prefix_tree.ROOT] = True
        return np.flatnonzero(enough)

    def by_weight(self) -> Int64:
        """Each node's place in preorder with children by descending weight."""
        if self.in_preorder:
            return prefix_tree.resorted(self.parent, prefix_tree.ends(self.parent), -self.total_weight)
        position, _ = prefix_tree.preorder(self.parent, self.depth, -self.total_weight)
        return position

    def of(self, nodes: Int64) -> "FrameTree":
        """Some of the nodes, ascending; the root and every parent must be among them."""
        parent = self.parent[nodes]
        return FrameTree(
            np.where(parent < 0, -1, np.searchsorted(nodes, parent)),
            self.depth[nodes],
            self.function[nodes],
            self.total[nodes],
            self.own[nodes],
            self.total_weight[nodes],
            self.own_weight[nodes],
            in_preorder=self.in_preorder,
        )


@dataclass(frozen=True, slots=True)
class Borne:
    """A shape and the values of its nodes."""

    shape: Shape
    own: Int64
    """Observed units."""
    total: Int64
    own_weight: Float
    """Units of the fleet."""
    total_weight: Float

    @classmethod
    def of(cls, shape: Shape, units: Int64, weighted: Float) -> "Borne":
        """Computes the values from those of each fact of the shape's stacks."""
        own = shape.self_at(units)
        own_weight = np.where(own > 0, shape.weight_at(weighted), 0.0)
        return cls(shape, own, shape.totals(own), own_weight, shape.weight_totals(own_weight))


def from_root(borne: Borne) -> FrameTree:
    """The tree with callers above callees, in depth-first preorder; the root alone if there are no units."""
    return _below(borne, prefix_tree.ROOT)


def from_callers(borne: Borne, path: Sequence[int]) -> FrameTree | None:
    """As `from_root`, below a path of functions from the outermost on. None: no stack begins with the path."""
    shape = borne.shape
    at = prefix_tree.ROOT
    for depth, function in enumerate(path, 1):
        inside = slice(at + 1, int(shape.end[at]))
        found = np.flatnonzero((shape.depth[inside] == depth) & (shape.function[inside] == function))
        if not len(found):
            return None
        at += 1 + int(found[0])
    return _below(borne, at) if borne.total[at] or not path else None


def _below(borne: Borne, at: int) -> FrameTree:
    """A node and the nodes below it that have units."""
    shape, end = borne.shape, int(borne.shape.end[at])
    nodes = at + np.flatnonzero(borne.total[at:end])
    used: Int64 | slice
    if len(nodes) == end - at:  # usual; then no lookup is needed
        used = slice(at, end)
        parent = shape.parent[used] - at
    else:
        used = nodes = nodes if len(nodes) else np.array([at])
        parent = np.searchsorted(nodes, shape.parent[nodes])
    parent[0] = -1
    return FrameTree(
        parent,
        shape.depth[used] - shape.depth[at],
        shape.function[used],
        borne.total[used],
        borne.own[used],
        borne.total_weight[used],
        borne.own_weight[used],
        in_preorder=True,
    )


def from_callees(borne: Borne, most: int, path: Sequence[int] = ()) -> FrameTree | None:
    """The inverted tree, callees above callers; if `path` is given, below that path from the innermost function on.

    None: no stack ends with the path. Few more nodes than the `most` heaviest are made, and these are always among
    them: the callers of a node are skipped if at least `most` nodes are known to weigh as much as it or more.
    """
    shape = borne.shape
    at = np.flatnonzero(borne.own > 0)
    own, weight = borne.own[at], borne.own_weight[at]
    for function in path:
        here = shape.function[at] == function
        at, own, weight = shape.parent[at[here]], own[here], weight[here]
    if path and not len(at):
        return None
    made = [
        _level(
            np.zeros(1, np.int64), at == prefix_tree.ROOT, own, weight, np.zeros(len(at), np.int64), depth=0
        )
    ]
    made[0] = replace(
        made[0], parent=np.full(1, -1, np.int64), function=np.array([path[-1] if path else 0], np.int64)
    )
    node, count = np.zeros(len(at), np.int64), 1
    while True:
        alive = at != prefix_tree.ROOT
        if count > most:
            weights = np.concatenate([level.total_weight for level in made])
            bound = np.partition(weights, count - most)[count - most]
            alive &= weights[node] > bound
        at, own, weight, node = at[alive], own[alive], weight[alive], node[alive]
        if not len(at):
            break
        keys, which = np.unique((node << 32) | shape.function[at], return_inverse=True)
        at = shape.parent[at]
        made.append(
            _level(keys, at == prefix_tree.ROOT, own, weight, which.astype(np.int64), depth=len(made))
        )
        node, count = count + which, count + len(keys)
    return FrameTree(*(np.concatenate([getattr(level, name) for level in made]) for name in COLUMNS))


COLUMNS = ("parent", "depth", "function", "total", "own", "total_weight", "own_weight")


def _level(keys: Int64, ended: Bool, own: Int64, weight: Float, which: Int64, *, depth: int) -> FrameTree:
    """The nodes of one depth; `which` is the node each stack passes through, `ended` marks stacks that end there."""
    size = len(keys)
    return FrameTree(
        keys >> 32,
        np.full(size, depth),
        keys & 0xFFFFFFFF,
        sum_at(which, own, size),
        sum_at(which[ended], own[ended], size),
        weight_at(which, weight, size),
        weight_at(which[ended], weight[ended], size),
    )


def below_labels(
    groups: Sequence[tuple[tuple[str, ...], FrameTree]],
) -> tuple[FrameTree, list[tuple[int, str]]]:
    """One tree of all groups' trees, each below frames for the values of its labels; there must be at least one group.

    Also returns the label frames: frame −1−k is the k-th, as (index of its label, value). A label's value is the same
    frame wherever it occurs.
    """
    frames: dict[tuple[int, str], int] = {}
    nodes: dict[tuple[str, ...], int] = {(): 0}
    parents, functions = [-1], [int(groups[0][1].function[0])]
    for labels, _ in groups:
        for depth in range(1, len(labels) + 1):
            prefix = labels[:depth]
            if prefix not in nodes:
                nodes[prefix] = len(parents)
                parents.append(nodes[prefix[:-1]])
                functions.append(-1 - frames.setdefault((depth - 1, prefix[-1]), len(frames)))
    heads = len(parents)
    head = FrameTree(
        np.array(parents),
        np.array([len(prefix) for prefix in nodes]),
        np.array(functions),
        np.zeros(heads, np.int64),
        np.zeros(heads, np.int64),
        np.zeros(heads),
        np.zeros(heads),
    )
    parts, first = [head], heads
    for labels, tree in groups:
        for depth in range(len(labels) + 1):
            place = nodes[labels[:depth]]
            head.total[place] += tree.total[0]
            head.total_weight[place] += tree.total_weight[0]
        place = nodes[labels]
        head.own[place] += tree.own[0]
        head.own_weight[place] += tree.own_weight[0]
        below = np.arange(1, len(tree))
        parent = tree.parent[below]
        parts.append(
            FrameTree(
                np.where(parent == 0, place, parent + first - 1),
                tree.depth[below] + len(labels),
                tree.function[below],
                tree.total[below],
                tree.own[below],
                tree.total_weight[below],
                tree.own_weight[below],
            )
        )
        first += len(below)
    joined = FrameTree(*(np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS))
    return joined, list(frames)
