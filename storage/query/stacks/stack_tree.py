"""All stacks anyone has asked about, as one prefix tree that is always fresh.

Most stacks stand in a `base` tree, mapped from a file that another process built. What has been met since,
and stacks whose functions were named since, stand in a small `Overlay` whose paths are joined to the base's nodes.
Both share one numbering: nodes of the base come first, then those only the overlay has. A query takes
the part of it that lies above its own stacks (`Shape`), so its cost follows the selection.

States are immutable; a query keeps the one it began with while others extend the tree.
"""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Float, Int32, Int64, ascending, sorting, sum_at, weight_at
from storage.query.stacks import prefix_tree
from storage.query.stacks.prefix_tree import PrefixTree
from storage.snapshots.decoded_cache import CacheSize, array_bytes


@dataclass(frozen=True, slots=True)
class Stacks:
    """Some stacks as columns: ids, and their functions one stack after the other, outermost first."""

    ids: Int64
    frames: Int32
    lengths: Int64

    def of(self, keep: Bool) -> "Stacks":
        """Those of them where `keep` is set."""
        return Stacks(self.ids[keep], self.frames[np.repeat(keep, self.lengths)], self.lengths[keep])

    def joined(self, other: "Stacks") -> "Stacks":
        """These and the others."""
        return Stacks(
            np.concatenate((self.ids, other.ids)),
            np.concatenate((self.frames, other.frames)),
            np.concatenate((self.lengths, other.lengths)),
        )


_BITS = 61
_NODES_A_STACK = 8
"""A selection's part of the tree is put together node by node; of so few nodes all are summed as fast."""
NO_STACKS = Stacks(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Overlay:
    """Nodes that the base does not have, in preorder too; numbers count on from the base's."""

    stacks: Stacks
    parent: Int64
    function: Int64
    depth: Int64
    outermost: Bool
    before: Int64
    """How many nodes of the base stand before each in the preorder of all."""

    def __len__(self) -> int:
        return len(self.parent)

    def paths_to(self, leaves: Int64, first: int) -> tuple[Int64, Int64]:
        """Some of these nodes and their ancestors here, counted from 0, ascending; and the base's nodes that those hang on.

        `first` is the number of the first node here.
        """
        seen = np.zeros(len(self), np.bool_)
        roots = [leaves[:0]]
        while len(leaves):
            seen[leaves] = True
            above = self.parent[leaves]
            roots.append(above[above < first])
            leaves = above[above >= first] - first
            leaves = ascending(leaves[~seen[leaves]])
        return np.flatnonzero(seen), np.concatenate(roots)


@dataclass(frozen=True, slots=True)
class Shape:
    """The part of the tree that some stacks use, in preorder again, and where each stack ends in it.

    It may have other nodes too: nothing ends in them or below them.
    """

    parent: Int64
    function: Int64
    end: Int64
    depth: Int64
    outermost: Bool
    leaf: Int64
    """Node of each stack asked for."""

    def __len__(self) -> int:
        return len(self.parent)

    def self_at(self, values: Int64) -> Int64:
        """Sums per node of `values`, one per stack asked for."""
        return sum_at(self.leaf, values, len(self))

    def totals(self, own: Int64) -> Int64:
        """Sums over subtrees of what the nodes have themselves."""
        running = np.zeros(len(own) + 1, np.int64)
        np.cumsum(own, out=running[1:])
        found: Int64 = running[self.end]
        found -= running[:-1]
        return found

    def by_node(self, leaf: Int64) -> tuple[Int64, Int64]:
        """The order that sorts what ends in these nodes by node, and where each node's begin in it.

        What ends at or below node i then is order[first[i]:first[end[i]]].
        """
        first = np.concatenate(([0], np.cumsum(np.bincount(leaf, minlength=len(self)))))
        return sorting(leaf), first

    def weight_at(self, values: Float) -> Float:
        """Sums per node of `values`, one per stack asked for."""
        return weight_at(self.leaf, values, len(self))

    def weight_totals(self, own: Float) -> Float:
        """As `totals`, for floats ≥ 0: a node weighs at least what any node below it does."""
        # Differences of one running sum of doubles would leave light nodes 1e-16 of the *whole* as error; of
        # whole numbers they are exact, and each leaf is off by less than 1e-18 of the whole.
        whole = float(own.sum())
        if whole <= 0:
            return np.zeros(len(self))
        step = math.ldexp(1.0, math.frexp(whole)[1] - _BITS)  # a power of two, so that halves stay halves
        return np.multiply(self.totals(np.rint(own / step).astype(np.int64)), step, dtype=np.float64)

    def above_its_leaves(self) -> "Shape":
        """The part of this shape that its own stacks use."""
        part = prefix_tree.paths_to(self.leaf, self.parent, self.depth, self.end)
        return Shape(
            parent=part.parent,
            function=self.function[part.nodes],
            end=part.end,
            depth=self.depth[part.nodes],
            outermost=self.outermost[part.nodes],
            leaf=part.leaf,
        )


@dataclass(frozen=True, slots=True)
class State:
    """Base and overlay at one moment, and the node where each stack ends."""

    base: PrefixTree
    base_leaf: Int32
    """By stack id, of the base alone; -1: not in it."""
    overlay: Overlay
    overlay_ids: Int64
    """Stacks of the overlay, ascending."""
    overlay_leaf: Int64
    """The node where each of them ends, which may be one of the base."""
    renamed: Int64
    """Stacks, ascending, whose functions have got other names since the base was built: it does not count for them."""
    forgotten: int = 0
    """How often functions had got other names by the time that no stack in it had any of the old ones."""

    def leaves(self, ids: Int64) -> Int64:
        """The node where each of these stacks ends; -1: not in the tree."""
        found = np.full(len(ids), -1, np.int64)
        inside = ids < len(self.base_leaf)
        found[inside] = self.base_leaf[ids[inside]]
        if len(self.renamed):
            found[_places(self.renamed, ids) >= 0] = -1
        if len(self.overlay_ids):
            place = _places(self.overlay_ids, ids)
            here = place >= 0
            found[here] = self.overlay_leaf[place[here]]
        return found

    def missing(self, ids: Int64) -> Int64:
        """Those of the stacks that are not in the tree."""
        return ids[self.leaves(ids) < 0]

    def shape(self, ids: Int64) -> Shape:
        """The part of the tree above these stacks, none of which is missing; or all of it, if that costs less."""
        leaves = self.leaves(ids)
        size = len(self.base)
        if len(ids) * _NODES_A_STACK >= size and not (leaves >= size).any():
            base = self.base
            wide = [c.astype(np.int64) for c in (base.parent, base.function, base.end, base.depth)]
            return Shape(wide[0], wide[1], wide[2], wide[3], base.outermost, leaves)
        if (leaves >= size).any():
            return self._merged(leaves)
        part = prefix_tree.paths_to(leaves, self.base.parent, self.base.depth, self.base.end)
        return Shape(
            part.parent,
            self.base.function[part.nodes].astype(np.int64),
            part.end,
            self.base.depth[part.nodes].astype(np.int64),
            self.base.outermost[part.nodes],
            part.leaf,
        )

    def _merged(self, leaves: Int64) -> Shape:
        """As `shape`, where some of the leaves are the overlay's."""
        base, overlay, size = self.base, self.overlay, len(self.base)
        new, roots = overlay.paths_to(leaves[leaves >= size] - size, size)
        hung_on = np.concatenate((leaves[leaves < size], roots))
        part = prefix_tree.paths_to(hung_on, base.parent, base.depth, base.end)
        old = part.nodes
        before = overlay.before[new]
        place_old = np.arange(len(old)) + np.searchsorted(before, old, side="right")
        place_new = np.arange(len(new)) + np.searchsorted(old, before)

        def place(nodes: Int64) -> Int64:
            found = np.empty(len(nodes), np.int64)
            here = nodes < size
            found[here] = place_old[np.searchsorted(old, nodes[here])]
            found[~here] = place_new[np.searchsorted(new, nodes[~here] - size)]
            return found

        def column(of_base: npt.NDArray[Any], of_overlay: npt.NDArray[Any]) -> npt.NDArray[Any]:
            found = np.empty(len(old) + len(new), of_overlay.dtype)
            found[place_old], found[place_new] = of_base[old], of_overlay[new]
            return found

        parent = np.empty(len(old) + len(new), np.int64)
        parent[place_old] = np.where(part.parent < 0, -1, place_old[part.parent])
        parent[place_new] = place(overlay.parent[new])
        return Shape(
            parent,
            column(base.function, overlay.function),
            prefix_tree.ends(parent),
            column(base.depth, overlay.depth),
            column(base.outermost, overlay.outermost),
            place(leaves),
        )

    def extended(self, stacks: Stacks) -> "State":
        """This with more stacks in the overlay."""
        return self.with_overlay(self.overlay.stacks.joined(stacks))

    def without_functions(self, functions: Int64) -> "State":
        """This without the stacks that have any of these functions: they are missing then."""
        gone = prefix_tree.below_any(np.isin(self.base.function, functions), self.base.end)
        in_base = np.flatnonzero(self.base_leaf >= 0)
        renamed = np.union1d(self.renamed, in_base[gone[self.base_leaf[in_base]]])
        stacks = self.overlay.stacks
        if len(stacks.ids):
            hits = np.isin(stacks.frames, functions).astype(np.int64)
            running = np.concatenate(([0], np.cumsum(hits)))
            ends = np.cumsum(stacks.lengths)
            stacks = stacks.of(running[ends] == running[ends - stacks.lengths])
        return replace(self, renamed=renamed).with_overlay(stacks)

    def with_overlay(self, stacks: Stacks) -> "State":
        """This with these stacks in its overlay, and no others."""
        overlay, leaves = _overlay(self.base, stacks)
        order = np.argsort(stacks.ids)
        return replace(self, overlay=overlay, overlay_ids=stacks.ids[order], overlay_leaf=leaves[order])


def on_base(base: PrefixTree, leaf: Int32) -> State:
    """A state of a base alone; `leaf` has its stacks' nodes by id, -1 where it has none."""
    overlay, none = _overlay(base, NO_STACKS)
    return State(base, leaf, overlay, none, none, none)


def built(stacks: Stacks) -> State:
    """A state that has these stacks in its base and nothing else."""
    base, leaves = prefix_tree.build(stacks.frames, stacks.lengths)
    leaf = np.full(int(stacks.ids.max(initial=0)) + 1, -1, np.int32)
    leaf[stacks.ids] = leaves
    return on_base(base, leaf)


class StackTree:
    """The tree that all queries of a process share."""

    def __init__(self, begin: State | None = None) -> None:
        """`begin` is what it has at first, None: nothing; its base stays."""
        self._state = begin or built(NO_STACKS)
        self._lock = threading.Lock()

    @property
    def overlay_nodes(self) -> int:
        """Nodes that are not in the base."""
        return len(self._state.overlay)

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return len(self._state.base) + self.overlay_nodes

    @property
    def size(self) -> CacheSize:
        """The overlay's stacks, some 150 bytes each, and those that are in it for having got other names."""
        state = self._state
        held = (state.overlay, state.overlay_ids, state.overlay_leaf, state.renamed)
        return CacheSize(len(state.overlay_ids), sum(map(array_bytes, held)))

    def covering(self, ids: Int64, load: Callable[[Int64], Stacks]) -> State:
        """A state that has all of these stacks; `load` brings those that are missing."""
        state = self._state
        if not len(state.missing(ids)):
            return state
        with self._lock:
            missing = self._state.missing(ids)
            if len(missing):
                self._state = self._state.extended(load(missing))
            return self._state

    def forget_functions(self, replaced: Sequence[Int64]) -> None:
        """Have the stacks with these functions loaded again: they are called otherwise now.

        `replaced` is all that was ever (`Naming.replaced`); what was forgotten before is not forgotten again.
        """
        with self._lock:
            new = replaced[self._state.forgotten :]
            if new:
                state = self._state.without_functions(np.unique(np.concatenate(new)))
                self._state = replace(state, forgotten=len(replaced))


def _overlay(base: PrefixTree, stacks: Stacks) -> tuple[Overlay, Int64]:
    """The overlay of these stacks on a base, and the node each of them ends in."""
    tree, leaves = prefix_tree.build(stacks.frames, stacks.lengths)
    size = len(base)
    number = np.full(len(tree), -1, np.int64)
    number[prefix_tree.ROOT] = prefix_tree.ROOT
    by_depth = np.argsort(tree.depth, kind="stable")
    bounds = np.searchsorted(tree.depth[by_depth], np.arange(1, int(tree.depth.max(initial=0)) + 2))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level = by_depth[low:high]
        above = number[tree.parent[level]]
        known = above >= 0
        number[level[known]] = base.child(above[known], tree.function[level[known]].astype(np.int64))
    new = np.flatnonzero(number < 0)  # in preorder, as the tree's own nodes are
    number[new] = size + np.arange(len(new))
    parent, function = number[tree.parent[new]], tree.function[new].astype(np.int64)
    hangs = parent < size  # on the base; what comes after it until the next that does is below it
    overlay = Overlay(
        stacks=stacks,
        parent=parent,
        function=function,
        depth=tree.depth[new].astype(np.int64),
        outermost=tree.outermost[new],
        before=base.before(parent[hangs], function[hangs])[np.cumsum(hangs) - 1],
    )
    return overlay, number[leaves]


def _places(ids: Int64, wanted: Int64) -> Int64:
    """The place of each wanted id among ascending ones; -1: not there."""
    place = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[place] == wanted, place, -1)
