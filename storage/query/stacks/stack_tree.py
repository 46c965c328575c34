"""All stacks that queries have used, as one prefix tree.

Most stacks are in a `base` tree, mapped from a file that another process built. Stacks that were read later, and stacks
with functions that were renamed since, are in a small `Overlay` whose paths are joined to the base's nodes. Both share
one numbering: the base's nodes come first, then the overlay's own nodes. A query takes the part of the tree above its
own stacks (`Shape`), so its cost depends on the selection.

States are immutable; a query keeps its state while others extend the tree.
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
    """Some stacks as columns: ids, and their functions concatenated, outermost first."""

    ids: Int64
    frames: Int32
    lengths: Int64

    def of(self, keep: Bool) -> "Stacks":
        """The stacks where `keep` is set."""
        return Stacks(self.ids[keep], self.frames[np.repeat(keep, self.lengths)], self.lengths[keep])

    def joined(self, other: "Stacks") -> "Stacks":
        """These stacks, then the others."""
        return Stacks(
            np.concatenate((self.ids, other.ids)),
            np.concatenate((self.frames, other.frames)),
            np.concatenate((self.lengths, other.lengths)),
        )


_BITS = 61
_NODES_A_STACK = 8
"""A part of the tree is assembled node by node. With at most so many nodes per stack, the whole tree is as fast."""
NO_STACKS = Stacks(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Overlay:
    """Nodes that the base does not have, in preorder; their numbers follow the base's."""

    stacks: Stacks
    parent: Int64
    function: Int64
    depth: Int64
    outermost: Bool
    before: Int64
    """For each node, the number of base nodes before it in the common preorder."""

    def __len__(self) -> int:
        return len(self.parent)

    def paths_to(self, leaves: Int64, first: int) -> tuple[Int64, Int64]:
        """Some of these nodes with their ancestors here, counted from 0, ascending; and the base nodes they hang on.

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
    """The part of the tree that some stacks use, in preorder, and the node where each stack ends.

    It may contain other nodes: no stack ends in them or below them.
    """

    parent: Int64
    function: Int64
    end: Int64
    depth: Int64
    outermost: Bool
    leaf: Int64
    """Node of each requested stack."""

    def __len__(self) -> int:
        return len(self.parent)

    def self_at(self, values: Int64) -> Int64:
        """Sums per node of `values`, which has one entry per requested stack."""
        return sum_at(self.leaf, values, len(self))

    def totals(self, own: Int64) -> Int64:
        """Sums over subtrees of the nodes' own values."""
        running = np.zeros(len(own) + 1, np.int64)
        np.cumsum(own, out=running[1:])
        found: Int64 = running[self.end]
        found -= running[:-1]
        return found

    def by_node(self, leaf: Int64) -> tuple[Int64, Int64]:
        """The order that sorts stack ends by node, and where each node's ends begin in that order.

        The ends at or below node i are order[first[i]:first[end[i]]].
        """
        first = np.concatenate(([0], np.cumsum(np.bincount(leaf, minlength=len(self)))))
        return sorting(leaf), first

    def weight_at(self, values: Float) -> Float:
        """Sums per node of `values`, which has one entry per requested stack."""
        return weight_at(self.leaf, values, len(self))

    def weight_totals(self, own: Float) -> Float:
        """As `totals`, for floats ≥ 0: a node weighs at least as much as any node below it."""
        # Differences of one running sum of doubles would leave light nodes 1e-16 of the *whole* as error. Differences
        # of whole numbers are exact, and each leaf is off by less than 1e-18 of the whole.
        whole = float(own.sum())
        if whole <= 0:
            return np.zeros(len(self))
        step = math.ldexp(1.0, math.frexp(whole)[1] - _BITS)  # a power of two, so that halves stay halves
        return np.multiply(self.totals(np.rint(own / step).astype(np.int64)), step, dtype=np.float64)

    def above_its_leaves(self) -> "Shape":
        """The part of this shape above its own stacks."""
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
    """By stack id, in the base alone; -1: not in it."""
    overlay: Overlay
    overlay_ids: Int64
    """Stacks of the overlay, ascending."""
    overlay_leaf: Int64
    """The node where each of them ends, which may be in the base."""
    renamed: Int64
    """Stacks, ascending, with functions renamed since the base was built: their leaves in the base are invalid."""
    forgotten: int = 0
    """Number of renamings applied: the tree has no stack with a function that these replaced."""

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
        """The stacks that are not in the tree."""
        return ids[self.leaves(ids) < 0]

    def shape(self, ids: Int64) -> Shape:
        """The part of the tree above these stacks, none of which may be missing; or the whole tree if it is cheaper."""
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
        """As `shape`, if some of the leaves are in the overlay."""
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
        """This state with more stacks in the overlay."""
        return self.with_overlay(self.overlay.stacks.joined(stacks))

    def without_functions(self, functions: Int64) -> "State":
        """This state without the stacks that have any of these functions: those become missing."""
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
        """This state with exactly these stacks in its overlay."""
        overlay, leaves = _overlay(self.base, stacks)
        order = np.argsort(stacks.ids)
        return replace(self, overlay=overlay, overlay_ids=stacks.ids[order], overlay_leaf=leaves[order])


def on_base(base: PrefixTree, leaf: Int32) -> State:
    """A state with a base alone; `leaf` has the nodes of its stacks by id, -1 for ids without one."""
    overlay, none = _overlay(base, NO_STACKS)
    return State(base, leaf, overlay, none, none, none)


def built(stacks: Stacks) -> State:
    """A state with exactly these stacks in its base."""
    base, leaves = prefix_tree.build(stacks.frames, stacks.lengths)
    leaf = np.full(int(stacks.ids.max(initial=0)) + 1, -1, np.int32)
    leaf[stacks.ids] = leaves
    return on_base(base, leaf)


class StackTree:
    """The tree that all queries of a process share."""

    def __init__(self, begin: State | None = None) -> None:
        """`begin` is the first state, None: an empty one; its base is never replaced."""
        self._state = begin or built(NO_STACKS)
        self._lock = threading.Lock()

    @property
    def overlay_nodes(self) -> int:
        """Nodes outside the base."""
        return len(self._state.overlay)

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return len(self._state.base) + self.overlay_nodes

    @property
    def size(self) -> CacheSize:
        """The overlay's stacks, some 150 bytes each, including those that were renamed."""
        state = self._state
        held = (state.overlay, state.overlay_ids, state.overlay_leaf, state.renamed)
        return CacheSize(len(state.overlay_ids), sum(map(array_bytes, held)))

    def covering(self, ids: Int64, load: Callable[[Int64], Stacks]) -> State:
        """A state that has all of these stacks; `load` reads the missing ones."""
        state = self._state
        if not len(state.missing(ids)):
            return state
        with self._lock:
            missing = self._state.missing(ids)
            if len(missing):
                self._state = self._state.extended(load(missing))
            return self._state

    def forget_functions(self, replaced: Sequence[Int64]) -> None:
        """Removes stacks with renamed functions, so that they are loaded again.

        `replaced` has all renamings so far (`Naming.replaced`); those that were handled before are skipped.
        """
        with self._lock:
            new = replaced[self._state.forgotten :]
            if new:
                state = self._state.without_functions(np.unique(np.concatenate(new)))
                self._state = replace(state, forgotten=len(replaced))


def _overlay(base: PrefixTree, stacks: Stacks) -> tuple[Overlay, Int64]:
    """The overlay of these stacks on a base, and the node where each of them ends."""
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
    new = np.flatnonzero(number < 0)  # in preorder, like the tree's own nodes
    number[new] = size + np.arange(len(new))
    parent, function = number[tree.parent[new]], tree.function[new].astype(np.int64)
    hangs = parent < size  # on the base; the nodes up to the next such one are below it
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
