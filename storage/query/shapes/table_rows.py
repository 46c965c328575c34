"""The rows of a table before they are sorted and cut: sums for all of them, the rest on demand.

A table may have a hundred thousand rows and show a hundred, so names, counts of samples, and what each
visit brought are made for those that are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from storage.query.arrays import Float, Int64, distinct, sorting, sum_at, weight_at
from storage.query.cells.evidence import Merged
from storage.query.samples import Samples
from storage.query.stacks import prefix_tree
from storage.query.stacks.functions import Functions
from storage.query.weighing import by_visit
from storage.query.weighing.by_visit import Brought, in_order
from storage.query.weighing.evidence import Details, Seen


@dataclass(frozen=True, slots=True)
class Grouping:
    """A number 0…n−1 for each profile, and the labels that the numbers stand for, in ascending order."""

    of: Int64
    labels: tuple[dict[str, str], ...]


class Rows(Protocol):
    """All rows of a table, by place; rows without samples are not among them."""

    own: Int64
    """Units observed, whose innermost function is the row's."""
    total: Int64
    own_weight: Float
    """Units of the fleet that they stand for."""
    total_weight: Float

    def key(self, place: int) -> dict[str, str]:
        """The row's key."""
        ...

    def function_id(self, place: int) -> int | None:
        """The row's function; None unless rows are functions."""
        ...

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        ...

    def brought(self, places: Int64, *, totals: bool = True) -> Brought:
        """What each visit brought to some rows, in their order.

        Without `totals`, which cost more, those may be missing from it.
        """
        ...


class LabelRows:
    """One row for each group: a sample is in one row only, so self is total."""

    def __init__(self, samples: Samples, grouping: Grouping) -> None:
        self._samples = samples
        self._grouping = grouping
        self._group = grouping.of[samples.facts.profile]
        units = sum_at(self._group, samples.facts.units, len(grouping.labels))
        weights = weight_at(self._group, samples.weighted, len(grouping.labels))
        self._present = np.flatnonzero(units)
        self.own = self.total = units[self._present]
        self.own_weight = self.total_weight = weights[self._present]

    def key(self, place: int) -> dict[str, str]:
        """The group's labels."""
        return self._grouping.labels[int(self._present[place])]

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None."""
        return None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._samples.evidence.details(self.brought(places), None)

    def brought(self, places: Int64, *, totals: bool = True) -> Brought:  # noqa: ARG002 - self is total
        """What each visit brought to some rows, in their order."""
        facts, seen, evidence = self._samples.facts, self._samples.seen, self._samples.evidence
        groups = len(self._grouping.labels)
        chosen = self._present[places]
        samples = sum_at(self._group, facts.samples, groups)[chosen]
        row_of = np.full(groups, -1, np.int64)
        row_of[chosen] = np.arange(len(chosen))
        visits = by_visit.of_pairs(
            row_of[self._group],
            seen.visit,
            seen.units,
            rows=len(chosen),
            visits=len(evidence),
        )
        return Brought(samples, samples, visits, visits)


APPLICATION = "application"


class ApplicationRows:
    """One row for each application that cells know."""

    def __init__(self, names: Sequence[str], evidence: Merged, seen: Seen) -> None:
        rows = evidence.rows
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self._present = by_name[rows.units[by_name] > 0]
        self._names = names
        self._evidence = evidence
        self._seen = seen
        self.own = self.total = rows.units[self._present]
        self.own_weight = self.total_weight = rows.weighted[self._present]

    def key(self, place: int) -> dict[str, str]:
        """The application."""
        return {APPLICATION: self._names[int(self._present[place])]}

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None."""
        return None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._evidence.of_applications(self._present[places], self.brought(places).total)

    def brought(self, places: Int64, *, totals: bool = True) -> Brought:  # noqa: ARG002 - self is total
        """What visits that are in no cell brought to some rows."""
        chosen = self._present[places]
        row_of = np.full(len(self._names) + 1, -1, np.int64)
        row_of[chosen] = np.arange(len(chosen))
        visits = by_visit.of_pairs(
            row_of[np.searchsorted(self._evidence.rows.application, self._seen.application)],
            self._seen.visit,
            self._seen.units,
            rows=len(chosen),
            visits=len(self._evidence),
        )
        uncounted = np.zeros(len(chosen), np.int64)
        return Brought(uncounted, uncounted, visits, visits)


class FrameRows:
    """One row for each group of labels and function (file, binary) in its stacks."""

    def __init__(self, functions: Functions, samples: Samples, grouping: Grouping, frame: str) -> None:
        self._frame = frame
        self._evidence = samples.evidence
        parts = samples.in_groups(grouping.of, len(grouping.labels))
        self._groups = [
            _Group(functions, part, labels, frame)
            for part, labels in zip(parts, grouping.labels, strict=True)
            if len(part.facts.profile)
        ]
        self._first = np.cumsum([0, *(len(group.own) for group in self._groups)])
        self.own = _joined([group.own for group in self._groups])
        self.total = _joined([group.total for group in self._groups])
        self.own_weight = _joined([np.zeros(0), *(group.own_weight for group in self._groups)])
        self.total_weight = _joined([np.zeros(0), *(group.total_weight for group in self._groups)])

    def key(self, place: int) -> dict[str, str]:
        """The group's labels, and what the frame key is called."""
        group, row = self._of(place)
        return group.key(row)

    def function_id(self, place: int) -> int | None:
        """The function, in a table of functions."""
        group, row = self._of(place)
        return int(group.keys[row]) if self._frame == "function" else None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        functions = None
        if self._frame == "function":
            functions = np.array([self.function_id(place) for place in places.tolist()], np.int64)
        return self._evidence.details(self.brought(places), functions)

    def brought(self, places: Int64, *, totals: bool = True) -> Brought:
        """What each visit brought to some rows, in their order."""
        group_of = np.searchsorted(self._first, places, side="right") - 1
        parts: list[Brought] = []
        moved = [places[:0]]
        for number in np.unique(group_of).tolist():
            here = np.flatnonzero(group_of == number)
            parts.append(self._groups[number].brought(places[here] - self._first[number], totals=totals))
            moved.append(here)
        return in_order(parts, np.concatenate(moved))

    def _of(self, place: int) -> tuple["_Group", int]:
        number = int(np.searchsorted(self._first, place, side="right")) - 1
        return self._groups[number], place - int(self._first[number])


class _Group:
    """The rows of one combination of labels.

    A row's total is that of its outermost nodes: those with no caller of the same row.
    """

    def __init__(self, functions: Functions, samples: Samples, labels: dict[str, str], frame: str) -> None:
        self._functions = functions
        self._samples = samples
        self._labels = labels
        self._frame = frame
        shape = samples.shape
        own = shape.self_at(samples.facts.units)
        totals = shape.totals(own)
        own_weight = shape.weight_at(samples.weighted)
        total_weight = shape.weight_totals(own_weight)
        used = np.flatnonzero(totals[1:]) + 1
        match frame:
            case "function":
                key, outermost = shape.function, shape.outermost
            case "file":
                key = functions.file(shape.function)
                outermost = prefix_tree.outermost(key, shape.end)
            case _:
                key = functions.binary(shape.function)
                outermost = prefix_tree.outermost(key, shape.end)
        self.keys, row = distinct(key[used])
        row_of = np.full(int(key.max()) + 1, -1, np.int64)
        row_of[self.keys] = np.arange(len(self.keys))
        self._row = row_of[key]  # of nodes without units too: visits may add there and take away as much
        self._row[prefix_tree.ROOT] = -1
        self._outer = np.flatnonzero(outermost & (self._row >= 0))
        outer_row = self._row[self._outer]
        self.own = sum_at(row, own[used], len(self.keys))
        self.total = sum_at(outer_row, totals[self._outer], len(self.keys))
        self.own_weight = weight_at(row, own_weight[used], len(self.keys))
        self.total_weight = weight_at(outer_row, total_weight[self._outer], len(self.keys))

    def key(self, row: int) -> dict[str, str]:
        """The labels, and what the row's key is called."""
        number = int(self.keys[row])
        if self._frame != "function":
            return {**self._labels, self._frame: self._functions.text(number)}
        function = self._functions.row(number)
        return {
            **self._labels,
            "function": function.name,
            "file": function.file,
            "binary": function.binary,
            "status": function.status.name.lower(),
            "kind": function.kind.name.lower(),
        }

    def brought(self, rows: Int64, *, totals: bool) -> Brought:
        """What each visit brought to some rows: with the facts sorted by node, a row's are a few slices of them."""
        evidence, shape, seen = self._samples.evidence, self._samples.shape, self._samples.seen
        order, below = shape.by_node(seen.leaf)
        leaf, counts, units = seen.leaf[order], seen.samples[order], seen.units[order]
        visit, visits = seen.visit[order], len(evidence)
        row_of = np.full(len(self.keys) + 1, -1, np.int64)  # one more: the root's -1
        row_of[rows] = np.arange(len(rows))
        own_row = row_of[self._row[leaf]]
        own = by_visit.of_pairs(own_row, visit, units, rows=len(rows), visits=visits)
        there = own_row >= 0
        own_samples = sum_at(own_row[there], counts[there], len(rows))
        if not totals:
            return Brought(own_samples, own_samples, own, own)
        by_row = self._outer[sorting(self._row[self._outer])]
        low, high = np.searchsorted(self._row[by_row], [rows, rows + 1])
        first = np.concatenate(([0], np.cumsum(high - low)))
        nodes = np.concatenate([by_row[:0], *(by_row[a:b] for a, b in zip(low, high, strict=True))])
        starts, ends = below[nodes], below[shape.end[nodes]]
        running = np.concatenate(([0], np.cumsum(counts)))
        in_slices = np.concatenate(([0], np.cumsum(running[ends] - running[starts])))
        return Brought(
            own_samples,
            in_slices[first[1:]] - in_slices[first[:-1]],
            own,
            by_visit.of_slices(first, starts, ends, visit, units, visits=visits),
        )


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
