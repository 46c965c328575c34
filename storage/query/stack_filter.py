r"""Apply a selection's frame filters to the tree: which stacks are kept, and which of their frames are shown.

The meanings are pprof's (docs/selections.md). Removing frames from stacks makes a new tree, in which siblings of the
same function are one node:

    main          hide=^lib     main
    ├ lib                       ├ read
    │ ├ read                    └ work
    │ └ work
    └ read
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Int64, distinct, group_starts, sorting
from storage.query.selections import patterns
from storage.query.selections.matchers import SELF
from storage.query.selections.selection import Selection
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.stacks.prefix_tree import ROOT
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget

Test = Callable[[str], bool]
_TOGETHER = 1000
"""Names tested between two checks of the query's budget."""


@dataclass(frozen=True, slots=True)
class Filtered:
    """The result of filtering stacks."""

    keep: Bool
    """For each stack, whether it counts."""
    shape: Shape
    """The tree of shown frames; stacks that do not count end anywhere in it."""


def filter_stacks(functions: Functions, shape: Shape, selection: Selection) -> Filtered:
    """The stacks that match the selection, and the frames that it shows; their functions must be loaded."""
    frames = _Frames(functions, shape)
    keep = np.ones(len(shape.leaf), np.bool_)
    for matcher in selection.frames:
        chosen = frames.with_member(matcher.label.removeprefix(SELF), matcher.positive())
        found = chosen[shape.leaf] if matcher.label.startswith(SELF) else through_any(chosen, shape)
        keep &= ~found if matcher.operator.negative else found
    if selection.focus:
        keep &= through_any(frames.matching(selection.focus), shape)
    if selection.ignore:
        keep &= ~through_any(frames.matching(selection.ignore), shape)
    if not selection.contracts_stacks:
        return Filtered(keep, shape)
    shown = np.ones(len(shape), np.bool_)
    if selection.hide:
        shown &= ~frames.matching(selection.hide)
    if selection.show:
        shown &= frames.matching(selection.show)
    if selection.show_from:
        # Frames above the outermost match are exactly those that are neither a match nor below one.
        shown &= prefix_tree.below_any(shown & frames.matching(selection.show_from), shape.end)
    contracted = contract(shape, shown)
    return Filtered(keep & (contracted.leaf != ROOT), contracted)


def through_any(chosen: Bool, shape: Shape) -> Bool:
    """For each stack, whether any of its frames is at a chosen node."""
    found: Bool = prefix_tree.below_any(chosen, shape.end)[shape.leaf]
    return found


def contract(shape: Shape, shown: Bool) -> Shape:
    """The tree of the stacks' shown frames, by node; the root's entry is ignored.

    A stack ends at its innermost shown frame, or at the root if it has none.
    """
    return shape if shown[1:].all() else merged(shape, shown)


def merged(shape: Shape, shown: Bool) -> Shape:
    """As `contract`, for a tree whose siblings may be of one function: these become one node."""
    nearest = _nearest(shape.parent, shown)
    nodes = np.flatnonzero(shown[1:]) + 1
    depths = _depths(shown, shape.end)[nodes]
    nodes, depths = nodes[order := sorting(depths)], depths[order]
    above = nearest[shape.parent[nodes]]
    number = np.zeros(len(shape), np.int64)
    names, name = distinct(shape.function)  # few: the keys below stay small, and sort fast
    parents, functions, firsts = [np.array([-1])], [np.array([0])], [0, 1]
    for low, high in itertools.pairwise([*group_starts(depths).tolist(), len(nodes)]):
        query_budget.checkpoint()
        keys = (number[above[low:high]] - firsts[-2]) * len(names) + name[nodes[low:high]]
        order = sorting(keys)
        starts = group_starts(keys[order])
        firsts.append(firsts[-1] + len(starts))
        number[nodes[low:high][order]] = firsts[-2] + np.repeat(
            np.arange(len(starts)), np.diff(starts, append=high - low)
        )
        found = keys[order[starts]]
        parents.append(found // len(names) + firsts[-3])
        functions.append(names[found % len(names)])
    parent, function = np.concatenate(parents), np.concatenate(functions)
    depth = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    position, size = prefix_tree.preorder_by_level(parent, np.array(firsts))
    back = np.empty(len(position), np.int64)
    back[position] = np.arange(len(position))
    function, end = function[back], (position + size)[back]
    return Shape(
        parent=np.where(parent < 0, -1, position[parent])[back],
        function=function,
        end=end,
        depth=depth[back],
        # Recomputed, as a removed caller may have been the same function.
        outermost=prefix_tree.outermost(function, end),
        leaf=position[number[nearest[shape.leaf]]],
    )


def _nearest(parent: Int64, shown: Bool) -> Int64:
    """For each node itself if it is shown, else its nearest shown ancestor, else the root."""
    nearest = np.where(shown, np.arange(len(parent)), parent)
    nearest[ROOT] = ROOT
    while True:  # each pass doubles the distance
        further = nearest[nearest]
        if np.array_equal(further, nearest):
            return nearest
        nearest = further


def _depths(shown: Bool, end: Int64) -> Int64:
    """Shown nodes from the root to each node, including itself."""
    edges = np.zeros(len(shown) + 1, np.int64)
    nodes = np.flatnonzero(shown[1:]) + 1
    edges[nodes] = 1
    np.subtract.at(edges, end[nodes], 1)
    return np.cumsum(edges[:-1])


class _Frames:
    """Which nodes are frames that pass a test; the root never is."""

    def __init__(self, functions: Functions, shape: Shape) -> None:
        self._functions = functions
        self._used, self._which = distinct(shape.function)

    def matching(self, pattern: str) -> Bool:
        """Nodes whose function, file or binary the pattern matches somewhere."""
        test = patterns.search(pattern)
        chosen = self._names(test)
        chosen |= self._texts(self._functions.file(self._used), test)
        # As in pprof: a frame without a binary does not match an empty one, while its file may be the empty text.
        chosen |= self._texts(self._functions.binary(self._used), lambda text: text != "" and test(text))
        return self._at_nodes(chosen)

    def with_member(self, key: str, test: Test) -> Bool:
        """Nodes whose function, file or binary, as given by `key`, passes."""
        match key:
            case "function":
                return self._at_nodes(self._names(test))
            case "file":
                return self._at_nodes(self._texts(self._functions.file(self._used), test))
            case _:
                return self._at_nodes(self._texts(self._functions.binary(self._used), test))

    def _names(self, test: Test) -> Bool:
        """Which functions in use have a name that passes."""
        found = [np.zeros(0, np.bool_)]
        for low in range(0, len(self._used), _TOGETHER):
            query_budget.checkpoint()  # the worst patterns take 0.1 ms per name
            found.append(self._functions.matching(self._used[low : low + _TOGETHER], test))
        return np.concatenate(found)

    def _texts(self, numbers: Int64, test: Test) -> Bool:
        """Which of these texts pass; each is tested once."""
        used, which = distinct(numbers)
        passed = np.fromiter((test(self._functions.text(n)) for n in used.tolist()), np.bool_, len(used))
        return passed[which]

    def _at_nodes(self, chosen: Bool) -> Bool:
        nodes = chosen[self._which]
        nodes[ROOT] = False
        return nodes
