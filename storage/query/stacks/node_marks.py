"""Marks on nodes of the stack tree for the stacks that end there: missing names, missing callers.

Marks change only with the tree: when a function gets a name, its stacks move to other nodes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Int64, group_starts, sorting
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.stacks.prefix_tree import PrefixTree
from storage.query.stacks.stack_tree import Overlay, State

UNNAMED = 1
"""A function of the stack has no name."""
NO_CODE = 2
"""The innermost function has no name or is a marker: the code that ran is unknown."""
INCOMPLETE = 4
"""The stack begins with a marker: its outermost callers are missing."""
_INHERITED = UNNAMED | INCOMPLETE

Marks = npt.NDArray[np.uint8]
Kinds = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class BaseMarks:
    """The marks of a base's nodes, and the functions that occur below themselves somewhere in it."""

    marks: Marks
    """Bits of the above, by node."""
    nested: Bool
    """By function id."""

    @classmethod
    def of(cls, tree: PrefixTree, status: Kinds, kind: Kinds) -> "BaseMarks":
        """The marks of a tree; `status` and `kind` are those of its functions, by id."""
        nameless, marker = _missing(status[tree.function], kind[tree.function])
        marks = np.zeros(len(tree), np.uint8)
        marks[prefix_tree.below_any(nameless, tree.end)] |= UNNAMED
        marks[nameless | marker] |= NO_CODE
        marks[prefix_tree.below_any(marker & (tree.depth == 1), tree.end)] |= INCOMPLETE
        nested = np.zeros(int(tree.function.max()) + 1, np.bool_)
        nested[tree.function[~tree.outermost]] = True
        nested[0] = False  # the root is not a function
        return cls(marks, nested)


@dataclass(frozen=True, slots=True)
class StateMarks:
    """The marks of a state's nodes."""

    base: BaseMarks
    marks: Marks
    """By node of the overlay."""
    nested: Bool
    """By id: functions that occur below themselves somewhere in the overlay."""

    def of(self, leaves: npt.NDArray[np.integer]) -> Marks:
        """Marks of the stacks that end in these nodes."""
        size = len(self.base.marks)
        found = np.empty(len(leaves), np.uint8)
        new = leaves >= size
        found[~new] = self.base.marks[leaves[~new]]
        found[new] = self.marks[leaves[new] - size]
        return found

    def any_nested(self, functions: Int64) -> bool:
        """Whether any of these functions occurs twice in one of the stacks."""
        both = (self.base.nested, self.nested)
        return any(bool(nested[functions[functions < len(nested)]].any()) for nested in both)


class NodeMarks:
    """The marks of the tree, cached until its overlay changes. Thread-safe."""

    def __init__(self, functions: Functions, base: BaseMarks) -> None:
        """`functions` must have those of every state used here; `base` belongs to all these states."""
        self._functions = functions
        self._base = base
        self._last: tuple[Overlay, StateMarks] | None = None

    def of(self, state: State) -> StateMarks:
        """The marks of this state's nodes; its functions must be loaded."""
        last = self._last
        if last is None or last[0] is not state.overlay:
            last = self._last = state.overlay, self._with_overlay(state.overlay)
        return last[1]

    def _with_overlay(self, overlay: Overlay) -> StateMarks:
        functions = self._functions
        nameless, marker = _missing(functions.status(overlay.function), functions.kind(overlay.function))
        found = StateMarks(
            self._base,
            np.zeros(len(overlay), np.uint8),
            np.zeros(int(overlay.function.max(initial=0)) + 1, np.bool_),
        )
        own = found.marks
        own[nameless] |= UNNAMED
        own[nameless | marker] |= NO_CODE
        own[marker & (overlay.depth == 1)] |= INCOMPLETE
        by_depth = sorting(overlay.depth)
        bounds = np.append(group_starts(overlay.depth[by_depth]), len(own))
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            level = by_depth[low:high]
            own[level] |= found.of(overlay.parent[level]) & _INHERITED
        found.nested[overlay.function[~overlay.outermost]] = True
        return found


def _missing(status: Kinds, kind: Kinds) -> tuple[Bool, Bool]:
    """Marks nodes without a name, and nodes that are markers, by their functions' `Status` and `Kind`."""
    marker: Bool = kind == Kind.MARKER
    return (status < Status.SYMTAB) & ~marker, marker
