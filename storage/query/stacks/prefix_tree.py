r"""A prefix tree over root-first stacks, its nodes numbered in depth-first preorder.

The subtree of node i is the range [i, end[i]). So totals are differences of one running sum, and "is an ancestor of" is
a comparison. Children are in ascending order of their function. Node 0 is the root and stands for no function (function
id 0).

    stacks            nodes                    end
    main;read         0 root                   4
    main;work         1 └ main                 4
                      2   ├ read               3
                      3   └ work               4
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Int16, Int32, Int64, group_starts, ranking, sorting

ROOT = 0
_DEEPEST = np.iinfo(np.int16).max


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """The tree of a set of stacks; immutable. All arrays have one entry per node."""

    parent: Int32
    """-1 for the root; always less than the node's own number."""
    function: Int32
    end: Int32
    """One past the last node of the subtree."""
    depth: Int16
    """0 for the root."""
    outermost: Bool
    """No ancestor has the same function: the totals of these nodes add up to the function's."""
    children: Int32
    """All nodes except the root, by parent and then by function."""
    first_child: Int32
    """Where each node's children begin in `children`, with one entry more at the end."""

    def __len__(self) -> int:
        return len(self.parent)

    def child(self, parents: Int64, functions: Int64) -> Int64:
        """The children of nodes with the given functions; -1 if there is none."""
        place, end = self._place(parents, functions)
        found = np.full(len(parents), -1, np.int64)
        some = np.flatnonzero(place < end)
        nodes = self.children[place[some]]
        same = self.function[nodes] == functions[some]
        found[some[same]] = nodes[same]
        return found

    def before(self, parents: Int64, functions: Int64) -> Int64:
        """The number of nodes before a child of that function of each node, if it existed; it must not exist."""
        place, end = self._place(parents, functions)
        next_to = self.end[parents].astype(np.int64)
        sibling = np.flatnonzero(place < end)
        next_to[sibling] = self.children[place[sibling]]
        return next_to

    def _place(self, parents: Int64, functions: Int64) -> tuple[Int64, Int64]:
        """The place in `children` of each node's first child with function ≥ the given one, and its children's end."""
        low = self.first_child[parents].astype(np.int64)
        end = self.first_child[parents + 1].astype(np.int64)
        high = end.copy()
        open_ = np.flatnonzero(low < high)
        while len(open_):
            middle = (low[open_] + high[open_]) // 2
            less = self.function[self.children[middle]] < functions[open_]
            low[open_[less]] = middle[less] + 1
            high[open_[~less]] = middle[~less]
            open_ = open_[low[open_] < high[open_]]
        return low, end


def build(frames: Int32, lengths: Int64) -> tuple[PrefixTree, Int64]:
    """The tree of stacks that are concatenated, outermost function first.

    `lengths` has the number of frames of each stack. Also returns each stack's leaf node (the root for an empty stack).
    Function ids are ≥ 1. Raises ValueError for a stack of more than 32,767 functions.
    """
    if int(lengths.max(initial=0)) > _DEEPEST:
        raise ValueError(f"a stack has more than {_DEEPEST} functions")
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    at = np.zeros(len(lengths), np.int64)  # the node that each stack has reached, in breadth-first numbers
    parents: list[Int64] = [np.array([-1], np.int64)]
    functions: list[Int64] = [np.array([0], np.int64)]
    leaf = np.zeros(len(lengths), np.int64)
    first, count, depth = 0, 1, 0
    bits = int(frames.max(initial=0)).bit_length()
    alive = np.flatnonzero(lengths > 0)
    while len(alive):
        # Numbers within the level are small, so `sorting` can pack the keys: half the time for five million stacks.
        keys = ((at[alive] - first) << bits) | frames[offsets[alive] + depth]
        order = sorting(keys)
        keys = keys[order]
        begins = group_starts(keys)
        distinct = keys[begins]
        parents.append((distinct >> bits) + first)
        functions.append(distinct & ((1 << bits) - 1))
        at[alive[order]] = count + np.repeat(np.arange(len(begins)), np.diff(begins, append=len(keys)))
        first, count, depth = count, count + len(distinct), depth + 1
        ended = lengths[alive] == depth
        leaf[alive[ended]] = at[alive[ended]]
        alive = alive[~ended]
    widths = [len(level) for level in parents]
    parent = np.concatenate(parents)
    function = np.concatenate(functions)
    # Within a level the nodes are sorted by parent, then function: preorder's order of siblings.
    position, size = preorder_by_level(parent, np.concatenate(([0], np.cumsum(widths))))
    return _renumbered(parent, function, np.repeat(np.arange(len(widths)), widths), position, size), position[
        leaf
    ]


def preorder(
    parent: Int64, depth: npt.NDArray[np.integer], rank: npt.NDArray[np.generic]
) -> tuple[Int64, Int64]:
    """Preorder numbers and subtree sizes of a tree with siblings in ascending order of `rank`.

    The root is the only node with parent -1. Ties in rank keep the order of the nodes' numbers.
    """
    order = np.lexsort((rank, parent, depth))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    # `preorder_by_level` needs levels whose nodes are sorted by their parents' *place in the level above*.
    # Any grouping by parent serves, because a group's base depends on the parent alone.
    relabelled = np.where(parent[order] < 0, -1, back[parent[order]])
    bounds = np.concatenate((group_starts(depth[order]), [len(order)]))
    position, size = preorder_by_level(relabelled, bounds)
    return position[back], size[back]


def resorted(parent: Int64, end: npt.NDArray[np.integer], rank: npt.NDArray[np.number]) -> Int64:
    """The numbers of `preorder`, for a tree that is in preorder by another rank; `end` are its subtrees' ends."""
    count = len(parent)
    by_rank = ranking(rank)
    order = by_rank[sorting(parent[by_rank] + 1)]
    size = (end - np.arange(count))[order]
    first = group_starts(parent[order])
    before = np.cumsum(size) - size
    step = np.empty(count, np.int64)  # the distance of each node from its parent
    step[order] = 1 + before - np.repeat(before[first], np.diff(first, append=count))
    step[ROOT] = 0
    # A node's number is the sum of the steps on its path, and the nodes on its path are its ancestors.
    ended: Int64 = np.bincount(end, weights=step, minlength=count + 1)[:count].astype(np.int64)
    return np.cumsum(step - ended)


def preorder_by_level(parent: Int64, bounds: Int64) -> tuple[Int64, Int64]:
    """As `preorder`, for nodes sorted by level (`bounds`), with siblings together and in order."""
    size = np.ones(len(parent), np.int64)
    levels = list(zip(bounds[1:-1].tolist(), bounds[2:].tolist(), strict=True))
    for low, high in reversed(levels):
        np.add.at(size, parent[low:high], size[low:high])
    position = np.zeros(len(parent), np.int64)
    for low, high in levels:
        above = parent[low:high]
        before = np.cumsum(size[low:high]) - size[low:high]
        first = group_starts(above)
        siblings = np.diff(np.append(first, high - low))
        position[low:high] = position[above] + 1 + before - np.repeat(before[first], siblings)
    return position, size


def _renumbered(parent: Int64, function: Int64, depth: Int64, position: Int64, size: Int64) -> PrefixTree:
    count = len(parent)
    new_parent = np.empty(count, np.int32)
    new_parent[position] = np.where(parent < 0, -1, position[parent])
    new_function = np.empty(count, np.int32)
    new_function[position] = function
    end = np.empty(count, np.int32)
    end[position] = position + size
    new_depth = np.empty(count, np.int16)
    new_depth[position] = depth
    first_child = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(new_parent[1:], minlength=count), out=first_child[1:])
    return PrefixTree(
        parent=new_parent,
        function=new_function,
        end=end,
        depth=new_depth,
        outermost=outermost(new_function, end),
        children=(sorting(new_parent[1:]) + 1).astype(np.int32),  # siblings are in order of function already
        first_child=first_child,
    )


def outermost(key: npt.NDArray[np.integer], end: npt.NDArray[np.integer]) -> Bool:
    """Marks nodes in preorder that have no ancestor of the same key ≥ 0; the root has no key and is not marked.

    Among nodes of one key, in preorder, a node lies inside an earlier one if and only if the largest end so far is
    beyond it: subtree ranges nest or are disjoint.
    """
    count = len(key)
    key = np.concatenate(([0], key[1:].astype(np.int64) + 1))
    order = sorting(key)
    starts = group_starts(key[order])
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, count)))
    shift = group * (count + 1)  # lifts every key above the ones before it: one running maximum serves all
    reach = np.maximum.accumulate(end[order] + shift) - shift
    inside = np.zeros(count, np.bool_)
    inside[1:] = reach[:-1] > order[1:]
    inside[starts] = False
    result = np.empty(count, np.bool_)
    result[order] = ~inside
    result[ROOT] = False
    return result


def outermost_among(nodes: Int64, key: npt.NDArray[np.integer], end: npt.NDArray[np.integer]) -> Bool:
    """As `outermost`, for some nodes (ascending, without the root): ancestors count only if they are among them.

    `key` has one entry for each of them, `end` one for every node of the tree.
    """
    # They form a tree in preorder below an artificial root.
    there = np.zeros(len(end) + 1, np.int64)
    there[nodes + 1] = 1
    ends = np.concatenate(([len(nodes) + 1], np.cumsum(there)[end[nodes]] + 1))
    return outermost(np.concatenate(([0], key)), ends)[1:]


def below_any(chosen: Bool, end: npt.NDArray[np.integer]) -> Bool:
    """Marks nodes in preorder that are chosen or below a chosen one."""
    nodes = np.flatnonzero(chosen)
    ends = end[nodes].astype(np.int64)
    # Subtrees nest or are disjoint: one that begins after the ends of all earlier ones is in none of them.
    outer = np.ones(len(nodes), np.bool_)
    outer[1:] = nodes[1:] >= np.maximum.accumulate(ends)[:-1]
    bounds = np.stack((nodes[outer], ends[outer]), axis=1).ravel()
    lengths = np.diff(bounds, prepend=0, append=len(chosen))
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)


@dataclass(frozen=True, slots=True)
class Paths:
    """Some leaves of a tree in preorder with all their ancestors, as a tree in preorder."""

    nodes: Int64
    """Ascending, with the root."""
    parent: Int64
    """Place of each node's parent among them; -1 for the root."""
    end: Int64
    """One past the place of the last of them in each node's subtree."""
    leaf: Int64
    """Place of each requested leaf."""


_CLOSE = 32
"""Nodes per leaf between the first and the last leaf: up to so many, scanning all of them is faster than climbing."""


def paths_to(
    asked: Int64,
    parent: npt.NDArray[np.integer],
    depth: npt.NDArray[np.integer],
    end: npt.NDArray[np.integer],
) -> Paths:
    """The requested nodes, in any order and with repetitions, with all their ancestors.

    The cost depends on the nodes found, not on the size of the tree. Stacks of one program are neighbours in the tree.
    """
    if len(asked):
        low, high = int(asked.min()), int(asked.max()) + 1
        if high - low <= _CLOSE * len(asked):
            return _paths_within(asked, parent, end, low, high)
    return _paths_climbed(asked, parent, depth)


def _paths_within(
    asked: Int64, parent: npt.NDArray[np.integer], end: npt.NDArray[np.integer], low: int, high: int
) -> Paths:
    """As `paths_to`, for leaves in [low, high): a node there is an ancestor of a leaf if its subtree contains one.

    An ancestor before them is an ancestor of the first leaf: its subtree extends beyond `low`.
    """
    chain: list[int] = []
    above_low = int(parent[low])
    while above_low >= 0:
        chain.append(above_low)
        above_low = int(parent[above_low])
    above = np.array(chain[::-1], np.int64)
    asked_here = np.zeros(high - low, np.bool_)
    asked_here[asked - low] = True
    before = _counted(asked_here)
    stop = np.minimum(end[low:high], high) - low
    there = before[stop] > before[:-1]
    number = _counted(there) + np.int32(len(above))
    here = np.flatnonzero(there)
    parent_here = parent[low:high][here]
    parents = number[np.maximum(parent_here - low, 0)].astype(np.int64)
    outside = np.flatnonzero(parent_here < low)
    parents[outside] = np.searchsorted(above, parent_here[outside])
    parents = np.concatenate((np.arange(-1, len(above) - 1), parents))
    parents[ROOT] = -1
    return Paths(
        nodes=np.concatenate((above, here + low)),
        parent=parents,
        end=np.concatenate((number[np.minimum(end[above], high) - low], number[stop[here]])).astype(np.int64),
        leaf=number[asked - low].astype(np.int64),
    )


def _counted(chosen: Bool) -> Int32:
    """The number of chosen entries before each place, and in total."""
    counted = np.zeros(len(chosen) + 1, np.int32)
    np.cumsum(chosen, dtype=np.int32, out=counted[1:])
    return counted


def _paths_climbed(asked: Int64, parent: npt.NDArray[np.integer], depth: npt.NDArray[np.integer]) -> Paths:
    """As `paths_to`, for leaves anywhere.

    Of two neighbours in preorder, the second adds the nodes below their lowest common ancestor, so every node is
    visited once.
    """
    order = sorting(asked)
    leaves = asked[order]
    begins = np.diff(leaves, prepend=ROOT) > 0
    which = np.empty(len(asked), np.int64)
    which[order] = np.cumsum(begins)
    leaves = leaves[begins]  # without the root, which is always included
    added = depth[leaves].astype(np.int64)
    if len(leaves) > 1:
        # Nodes between two neighbours are deeper than their common ancestor, and a child of it is among them.
        added[1:] -= np.minimum.reduceat(depth[: leaves[-1] + 1], leaves[:-1] + 1) - 1
    last = np.cumsum(added)
    nodes = np.zeros(1 + (int(last[-1]) if len(last) else 0), np.int64)
    longest_first = np.argsort(-added)
    at: npt.NDArray[np.integer] = leaves[longest_first]
    place = last[longest_first]
    for still in (len(leaves) - np.cumsum(np.bincount(added)))[1:].tolist():
        nodes[place] = at
        at, place = parent[at[:still]], place[:still] - 1
    above = np.arange(-1, len(nodes) - 1)
    first = last - added + 1
    above[first] = np.searchsorted(nodes, parent[nodes[first]])
    return Paths(nodes, above, ends(above), np.concatenate(([ROOT], last))[which])


def ends(parent: Int64) -> Int64:
    """One past the last node of each subtree, for a tree in preorder given by its nodes' parents."""
    last = np.arange(len(parent))
    last[parent[1:]] = last[1:].copy()  # for several children the last one's number remains
    while True:  # each pass doubles the distance
        further = last[last]
        if np.array_equal(further, last):
            return last + 1
        last = further
