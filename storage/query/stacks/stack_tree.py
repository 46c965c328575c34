"""All stacks anyone has asked about, as one prefix tree in memory that is always fresh.

Most stacks stand in a `base` tree, built off the hot path. What has been met since, and stacks whose
functions were named since, stand in a small `Overlay` whose paths are joined to the base's nodes.
Both share one numbering: nodes of the base come first, then those only the overlay has. A query takes
the part of it that lies above its own stacks (`Shape`), so its cost follows the selection.

States are immutable; a query keeps the one it began with while others extend the tree.
"""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.query.arrays import Bool, Float, Int32, Int64, sorting, sum_at, weight_at
from storage.query.cache_size import CacheSize, array_bytes
from storage.query.stacks import prefix_tree
from storage.query.stacks.prefix_tree import PrefixTree


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
    """Nodes that the base does not have; numbers count on from the base's."""

    stacks: Stacks
    parent: Int64
    function: Int64
    depth: Int64
    outermost: Bool


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
        running = np.concatenate(([0], np.cumsum(own)))
        return running[self.end] - running[:-1]

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
        nodes = prefix_tree.closed_upward(self.leaf, len(self), self.parent.__getitem__)
        parent = self.parent[nodes]
        parent[1:] = np.searchsorted(nodes, parent[1:])
        return Shape(
            parent=parent,
            function=self.function[nodes],
            end=np.searchsorted(nodes, self.end[nodes]),
            depth=self.depth[nodes],
            outermost=self.outermost[nodes],
            leaf=np.searchsorted(nodes, self.leaf),
        )


@dataclass(frozen=True, slots=True)
class State:
    """Base and overlay at one moment, and the node where each stack ends."""

    base: PrefixTree
    base_ids: Int32
    overlay: Overlay
    leaf: Int32
    """By stack id; -1: not in the tree."""
    forgotten: int = 0
    """How often functions had got other names by the time that no stack in it had any of the old ones."""

    def missing(self, ids: Int64) -> Int64:
        """Those of the stacks that are not in the tree."""
        known = np.zeros(len(ids), np.bool_)
        inside = ids < len(self.leaf)
        known[inside] = self.leaf[ids[inside]] >= 0
        return ids[~known]

    def shape(self, ids: Int64) -> Shape:
        """The part of the tree above these stacks, none of which is missing; or all of it, if that costs less."""
        leaves = self.leaf[ids].astype(np.int64)
        size = len(self.base)
        if len(ids) * _NODES_A_STACK >= size and not (leaves >= size).any():
            base = self.base
            wide = [c.astype(np.int64) for c in (base.parent, base.function, base.end, base.depth)]
            return Shape(wide[0], wide[1], wide[2], wide[3], base.outermost, leaves)
        together = size + len(self.overlay.parent)
        nodes = prefix_tree.closed_upward(leaves, together, self._parent)
        first_new = int(np.searchsorted(nodes, size))
        old, new = nodes[:first_new], nodes[first_new:] - size
        place = prefix_tree.places(nodes, together)
        parent = np.concatenate((self.base.parent[old], self.overlay.parent[new])).astype(np.int64)
        parent[1:] = place[parent[1:]]
        function = np.concatenate((self.base.function[old], self.overlay.function[new])).astype(np.int64)
        depth = np.concatenate((self.base.depth[old], self.overlay.depth[new])).astype(np.int64)
        outermost = np.concatenate((self.base.outermost[old], self.overlay.outermost[new]))
        leaf = place[leaves].astype(np.int64)
        if not len(new):  # the base's numbers are in preorder already
            end = np.searchsorted(nodes, self.base.end[old])
            return Shape(parent, function, end, depth, outermost, leaf)
        position, extent = prefix_tree.preorder(parent, depth, function)
        back = np.argsort(position)
        parent = np.where(parent < 0, -1, position[parent])[back]
        end = (position + extent)[back]
        return Shape(parent, function[back], end, depth[back], outermost[back], position[leaf])

    def _parent(self, nodes: Int64) -> Int64:
        size = len(self.base)
        if not len(self.overlay.parent):
            return self.base.parent[nodes].astype(np.int64)
        above = np.empty(len(nodes), np.int64)
        in_base = nodes < size
        above[in_base] = self.base.parent[nodes[in_base]]
        above[~in_base] = self.overlay.parent[nodes[~in_base] - size]
        return above

    def extended(self, stacks: Stacks) -> "State":
        """This with more stacks in the overlay."""
        together = self.overlay.stacks.joined(stacks)
        overlay, leaves = _overlay(self.base, together)
        leaf = _grown(self.leaf, int(together.ids.max(initial=0)) + 1)
        leaf[together.ids] = leaves
        return replace(self, overlay=overlay, leaf=leaf)

    def without_functions(self, functions: Int64) -> "State":
        """This without the stacks that have any of these functions: they are missing then."""
        leaf = self.leaf.copy()
        gone = prefix_tree.below_any(np.isin(self.base.function, functions), self.base.end)
        here = self.base_ids[leaf[self.base_ids] >= 0]
        in_base = here[leaf[here] < len(self.base)]
        leaf[in_base[gone[leaf[in_base]]]] = -1
        stacks = self.overlay.stacks
        if len(stacks.ids):
            hits = np.isin(stacks.frames, functions).astype(np.int64)
            running = np.concatenate(([0], np.cumsum(hits)))
            ends = np.cumsum(stacks.lengths)
            stale = running[ends] > running[ends - stacks.lengths]
            leaf[stacks.ids[stale]] = -1
            stacks = stacks.of(~stale)
        overlay, leaves = _overlay(self.base, stacks)
        leaf[stacks.ids] = leaves
        return replace(self, overlay=overlay, leaf=leaf)


def built(stacks: Stacks) -> State:
    """A state that has these stacks in its base and nothing else."""
    base, leaves = prefix_tree.build(stacks.frames, stacks.lengths)
    leaf = np.full(int(stacks.ids.max(initial=0)) + 1, -1, np.int32)
    leaf[stacks.ids] = leaves
    empty = Overlay(
        NO_STACKS, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    )
    return State(base, stacks.ids.astype(np.int32), empty, leaf)


class StackTree:
    """The tree that all queries of a process share."""

    def __init__(self, stacks: Stacks = NO_STACKS) -> None:
        """`stacks` are its base, built here."""
        self._state = built(stacks)
        self._lock = threading.Lock()

    @property
    def overlay_nodes(self) -> int:
        """Nodes that are not in the base."""
        return len(self._state.overlay.parent)

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return len(self._state.base) + self.overlay_nodes

    @property
    def size(self) -> CacheSize:
        """Its stacks; some 100 bytes each, and 4 for each id that was ever given away."""
        state = self._state
        return CacheSize(len(state.base_ids) + len(state.overlay.stacks.ids), array_bytes(state))

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
    added: list[Int64] = []
    count = 0
    by_depth = np.argsort(tree.depth, kind="stable")
    bounds = np.searchsorted(tree.depth[by_depth], np.arange(1, int(tree.depth.max(initial=0)) + 2))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        level = by_depth[low:high]
        above = number[tree.parent[level]]
        there = np.full(len(level), -1, np.int64)
        in_base = above < size
        there[in_base] = base.child(above[in_base], tree.function[level[in_base]].astype(np.int64))
        fresh = there < 0
        there[fresh] = size + count + np.arange(int(fresh.sum()))
        count += int(fresh.sum())
        number[level] = there
        added.append(level[fresh])
    new = np.concatenate(added) if added else np.zeros(0, np.int64)
    overlay = Overlay(
        stacks=stacks,
        parent=number[tree.parent[new]],
        function=tree.function[new].astype(np.int64),
        depth=tree.depth[new].astype(np.int64),
        outermost=tree.outermost[new],
    )
    return overlay, number[leaves]


def _grown(array: Int32, size: int) -> Int32:
    grown = np.full(max(size, len(array)), -1, np.int32)
    grown[: len(array)] = array
    return grown
