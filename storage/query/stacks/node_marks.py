"""What nodes of the tree of all stacks say of the stacks that end in them: names that are missing, callers that are missing.

It changes with the tree alone: a function that gets a name has its stacks leave the nodes that say otherwise.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.landing.markers import Kind
from storage.landing.resolved import Status
from storage.query.arrays import Bool, Int64, group_starts, sorting
from storage.query.stacks import prefix_tree
from storage.query.stacks.functions import Functions
from storage.query.stacks.prefix_tree import PrefixTree
from storage.query.stacks.stack_tree import Overlay, State

UNNAMED = 1
"""A function of the stack has no name."""
NO_CODE = 2
"""The innermost one has none, or is a marker: what ran there is not known."""
INCOMPLETE = 4
"""It begins with a marker: its outermost callers are missing."""
_INHERITED = UNNAMED | INCOMPLETE

Marks = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Told:
    """What the nodes of a state say."""

    marks: Marks
    """Of each node: bits of those above."""
    nested: Bool
    """By id: functions that stand below themselves somewhere."""

    def of(self, leaves: npt.NDArray[np.integer]) -> Marks:
        """Marks of the stacks that end in these nodes."""
        found: Marks = self.marks[leaves]
        return found

    def any_nested(self, functions: Int64) -> bool:
        """Whether any of these stands twice in one of the stacks."""
        return bool(self.nested[functions[functions < len(self.nested)]].any())


class NodeMarks:
    """The marks of the tree, kept as long as it stays as it is. Safe to share between threads."""

    def __init__(self, functions: Functions) -> None:
        """`functions` has those of every state that is asked about."""
        self._functions = functions
        self._base: tuple[PrefixTree, Told] | None = None
        self._last: tuple[PrefixTree, Overlay, Told] | None = None

    def of(self, state: State) -> Told:
        """What the nodes of this state say, all of whose functions are loaded."""
        last = self._last
        if last is not None and last[0] is state.base and last[1] is state.overlay:
            return last[2]
        base = self._base
        if base is None or base[0] is not state.base:
            base = state.base, self._of_base(state.base)
            self._base = base
        told = self._with_overlay(base[1], state.overlay)
        self._last = state.base, state.overlay, told
        return told

    def _of_base(self, tree: PrefixTree) -> Told:
        nameless, marker = self._kinds(tree.function)
        marks = np.zeros(len(tree), np.uint8)
        marks[prefix_tree.below_any(nameless, tree.end)] |= UNNAMED
        marks[nameless | marker] |= NO_CODE
        marks[prefix_tree.below_any(marker & (tree.depth == 1), tree.end)] |= INCOMPLETE
        nested = np.zeros(int(tree.function.max()) + 1, np.bool_)
        nested[tree.function[~tree.outermost]] = True
        nested[0] = False  # the root is no function
        return Told(marks, nested)

    def _with_overlay(self, base: Told, overlay: Overlay) -> Told:
        if not len(overlay.parent):
            return base
        first = len(base.marks)
        nameless, marker = self._kinds(overlay.function)
        marks = np.concatenate((base.marks, np.zeros(len(overlay.parent), np.uint8)))
        own = marks[first:]
        own[nameless] |= UNNAMED
        own[nameless | marker] |= NO_CODE
        own[marker & (overlay.depth == 1)] |= INCOMPLETE
        by_depth = sorting(overlay.depth)
        bounds = np.append(group_starts(overlay.depth[by_depth]), len(own))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            level = by_depth[low:high]
            own[level] |= marks[overlay.parent[level]] & _INHERITED
        nested = np.zeros(max(len(base.nested), int(overlay.function.max()) + 1), np.bool_)
        nested[: len(base.nested)] = base.nested
        nested[overlay.function[~overlay.outermost]] = True
        return Told(marks, nested)

    def _kinds(self, function: npt.NDArray[np.integer]) -> tuple[Bool, Bool]:
        """Of each node, whether its function has no name, and whether it is a marker."""
        ids = function.astype(np.int64)
        marker = self._functions.kind(ids) == Kind.MARKER
        return (self._functions.status(ids) < Status.SYMTAB) & ~marker, marker
