"""Rows of functions, files or binaries that occur in stacks, with or without labels."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from storage.arrays import Bool, Float, Int64, distinct, sum_at, weight_at
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_evidence import Details, VisitFacts
from storage.query.estimation.visit_totals import Contributions, in_order
from storage.query.function_samples import FunctionSamples
from storage.query.samples import Samples
from storage.query.shapes.frame_keys import FrameKeys, Numbering, function_key
from storage.query.shapes.table_rows import Grouping, Identities
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget


class RowGroup(Protocol):
    """The rows of one combination of labels, by place; `table_rows.Rows` is the same for all combinations."""

    keys: Int64
    """Row numbers, ascending."""
    own: Int64
    total: Int64
    own_weight: Float
    total_weight: Float

    def key(self, row: int) -> dict[str, str]:
        """The labels, and the names of the row's frame keys."""
        ...

    def function_id(self, row: int) -> int | None:
        """The row's function; None unless rows are functions or lines of functions."""
        ...

    def contributions(self, rows: Int64, *, totals: bool) -> Contributions:
        """The units of each visit in some rows, in their order."""
        ...


class FrameRows:
    """One row for each group of labels and frame key in its stacks."""

    def __init__(self, samples: Samples, groups: Sequence[RowGroup], *, functions: bool) -> None:
        """`functions`: every row is a function, for which merged cells have moments."""
        self._evidence = samples.evidence
        self._functions = functions
        self._groups = groups
        self._first = np.cumsum([0, *(len(group.own) for group in groups)])
        self.own = _joined([group.own for group in groups])
        self.total = _joined([group.total for group in groups])
        self.own_weight = _joined([np.zeros(0), *(group.own_weight for group in groups)])
        self.total_weight = _joined([np.zeros(0), *(group.total_weight for group in groups)])

    def places(self, numbers: Int64) -> Int64:
        """Places of the rows with these numbers, all of which exist; for rows without labels."""
        keys = self._groups[0].keys if self._groups else numbers[:0]
        return np.searchsorted(keys, numbers)

    def identities(self) -> Identities:
        """The identities of the rows. Raises `TypeError` for lines."""
        groups = [group for group in self._groups if isinstance(group, FrameGroup)]
        if len(groups) < len(self._groups):
            raise TypeError("lines cannot be compared")
        return Identities(
            tuple(group.labels for group in groups),
            np.repeat(np.arange(len(groups)), np.diff(self._first)),
            _joined([group.shared() for group in groups]),
        )

    def key(self, place: int) -> dict[str, str]:
        """The group's labels, and the names of the frame keys."""
        group, row = self._of(place)
        return group.key(row)

    def function_id(self, place: int) -> int | None:
        """The row's function; None unless rows are functions or lines of functions."""
        group, row = self._of(place)
        return group.function_id(row)

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        functions = None
        if self._functions:
            functions = np.array([self.function_id(place) for place in places.tolist()], np.int64)
        return self._evidence.details(self.contributions(places), functions)

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:
        """The units of each visit in some rows, in their order."""
        group_of = np.searchsorted(self._first, places, side="right") - 1
        parts: list[Contributions] = []
        moved = [places[:0]]
        for number in np.unique(group_of).tolist():
            here = np.flatnonzero(group_of == number)
            parts.append(
                self._groups[number].contributions(places[here] - self._first[number], totals=totals)
            )
            moved.append(here)
        return in_order(parts, np.concatenate(moved))

    def _of(self, place: int) -> tuple[RowGroup, int]:
        number = int(np.searchsorted(self._first, place, side="right")) - 1
        return self._groups[number], place - int(self._first[number])


def frame_rows(functions: Functions, samples: Samples, grouping: Grouping, keys: FrameKeys) -> FrameRows:
    """The rows of these frame keys, which must not include lines."""
    parts = samples.in_groups(grouping.of, len(grouping.labels))
    groups = [
        FrameGroup(functions, part, labels, keys)
        for part, labels in zip(parts, grouping.labels, strict=True)
        if len(part.facts.profile)
    ]
    return FrameRows(samples, groups, functions=keys == ("function",))


class FrameGroup:
    """The rows of one combination of labels.

    A row's total is that of its outermost nodes: those without an ancestor in the same row.
    """

    def __init__(
        self, functions: Functions, samples: Samples, labels: dict[str, str], keys: FrameKeys
    ) -> None:
        query_budget.checkpoint()  # 0.3 ms per group of a large tree, up to 20,000 groups
        self._samples = samples
        self.labels = labels
        shape = samples.shape
        own = shape.self_at(samples.facts.units)
        totals = shape.totals(own)
        own_weight = shape.weight_at(samples.weighted)
        total_weight = shape.weight_totals(own_weight)
        self._by_function = keys == ("function",)
        if self._by_function:  # a function is its own number, and the tree has its outermost nodes
            self._numbering = Numbering.of(functions, shape.function[:0], keys)
            key, outermost = shape.function, shape.outermost
        else:
            there, which = distinct(shape.function)
            self._numbering = Numbering.of(functions, there, keys)
            key = self._numbering.numbers[which]
            outermost = prefix_tree.outermost(key, shape.end)
        # Each key with units has an outermost node with units; few nodes are leaves.
        outer = np.flatnonzero(outermost[1:] & (totals[1:] > 0)) + 1
        self.keys, row = distinct(key[outer])
        self._key, self._outermost = key, outermost
        self._row_of = np.full(int(key.max()) + 1, -1, np.int64)
        self._row_of[self.keys] = np.arange(len(self.keys))
        leaves = np.flatnonzero(own[1:]) + 1
        leaf_row = self._row_of[key[leaves]]
        self.own = sum_at(leaf_row, own[leaves], len(self.keys))
        self.total = sum_at(row, totals[outer], len(self.keys))
        self.own_weight = weight_at(leaf_row, own_weight[leaves], len(self.keys))
        self.total_weight = weight_at(row, total_weight[outer], len(self.keys))

    def shared(self) -> Int64:
        """A number for each row's frame keys that is comparable across selections."""
        return self._numbering.shared(self.keys)

    def key(self, row: int) -> dict[str, str]:
        """The labels, and the name of the row's key."""
        return {**self.labels, **self._numbering.key(int(self.keys[row]))}

    def function_id(self, row: int) -> int | None:
        """The row's function; None unless rows are functions."""
        return int(self.keys[row]) if self._by_function else None

    def contributions(self, rows: Int64, *, totals: bool) -> Contributions:
        """The units of each visit in some rows."""
        evidence, shape, seen = self._samples.evidence, self._samples.shape, self._samples.visit_facts
        if not len(seen):  # cells have everything
            none = visit_totals.joined([], len(rows))
            return Contributions(np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64), none, none)
        place_of = np.full(len(self.keys) + 1, -1, np.int64)  # the last entry is for keys without a row
        place_of[rows] = np.arange(len(rows))
        of_node = place_of[self._row_of][self._key]
        return brought_at(
            shape, self._outermost, of_node, seen, rows=len(rows), visits=len(evidence), totals=totals
        )


def brought_at(
    shape: Shape, outermost: Bool, of_node: Int64, seen: VisitFacts, *, rows: int, visits: int, totals: bool
) -> Contributions:
    """The units of each visit in rows 0…rows−1.

    `of_node` is the row of each node (−1: none). `outermost` marks the nodes that count for totals.
    """
    own_row, total_row = of_node.copy(), np.where(outermost, of_node, -1)
    own_row[prefix_tree.ROOT] = total_row[prefix_tree.ROOT] = -1
    return seen.contributions(shape, own_row, total_row, rows=rows, visits=visits, totals=totals)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class FunctionRows:
    """One row for each function with units."""

    def __init__(self, functions: Functions, samples: FunctionSamples) -> None:
        self._functions = functions
        self._samples = samples
        self._ids = samples.sums.function
        self.own = samples.sums.own
        self.total = samples.sums.total
        self.own_weight = samples.sums.own_weight
        self.total_weight = samples.sums.total_weight

    def key(self, place: int) -> dict[str, str]:
        """The function's names."""
        return function_key(self._functions.row(self.function_id(place)))

    def function_id(self, place: int) -> int:
        """The row's function."""
        return int(self._ids[place])

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._samples.evidence.details(self.contributions(places), self._ids[places])

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:
        """The units of each visit outside the cells in some rows, in their order."""
        shape, seen, rows = self._samples.shape, self._samples.seen, len(places)
        if not len(seen):
            none = visit_totals.joined([], rows)
            return Contributions(np.zeros(rows, np.int64), np.zeros(rows, np.int64), none, none)
        # Visits can cancel out for a function: it has a node then, but no row.
        size = int(max(shape.function.max(), self._ids.max(initial=0))) + 1
        row_of = np.full(size, -1, np.int64)
        row_of[self._ids[places]] = np.arange(rows)
        of_node = row_of[shape.function]
        visits = len(self._samples.evidence)
        return brought_at(shape, shape.outermost, of_node, seen, rows=rows, visits=visits, totals=totals)
