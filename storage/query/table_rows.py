"""The rows of a table before they are sorted and cut: sums for all of them, the rest on demand.

A table may have a hundred thousand rows and show a hundred, so names, counts of samples and counts of
machines are made for those that are shown.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from storage.query import prefix_tree
from storage.query.arrays import Int64, distinct, sum_at
from storage.query.functions import Functions
from storage.query.samples import Samples


@dataclass(frozen=True, slots=True)
class Detail:
    """What only shown rows need."""

    self_samples: int
    total_samples: int
    machines: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """A number 0…n−1 for each profile, and the labels that the numbers stand for, in ascending order."""

    of: Int64
    labels: tuple[dict[str, str], ...]


class Rows(Protocol):
    """All rows of a table, by place; rows without samples are not among them."""

    own: Int64
    total: Int64

    def key(self, place: int) -> dict[str, str]:
        """The row's key."""
        ...

    def function_id(self, place: int) -> int | None:
        """The row's function; None unless rows are functions."""
        ...

    def details(self, places: Int64) -> list[Detail]:
        """Details of some rows, in their order."""
        ...


class LabelRows:
    """One row for each group: a sample is in one row only, so self is total."""

    def __init__(self, samples: Samples, grouping: Grouping) -> None:
        self._samples = samples
        self._grouping = grouping
        self._group = grouping.of[samples.facts.profile]
        units = sum_at(self._group, samples.facts.units, len(grouping.labels))
        self._present = np.flatnonzero(units)
        self.own = self.total = units[self._present]

    def key(self, place: int) -> dict[str, str]:
        """The group's labels."""
        return self._grouping.labels[int(self._present[place])]

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None."""
        return None

    def details(self, places: Int64) -> list[Detail]:
        """Details of some rows, in their order."""
        groups = len(self._grouping.labels)
        samples = sum_at(self._group, self._samples.facts.samples, groups)
        used = np.unique(self._samples.facts.profile)
        machine = self._samples.profiles.machine[used]
        pairs = np.unique((self._grouping.of[used] << 32) | machine)
        machines = np.bincount(pairs >> 32, minlength=groups)
        chosen = self._present[places].tolist()
        return [Detail(int(samples[group]), int(samples[group]), int(machines[group])) for group in chosen]


class FrameRows:
    """One row for each group of labels and function (file, binary) in its stacks."""

    def __init__(self, functions: Functions, samples: Samples, grouping: Grouping, frame: str) -> None:
        self._frame = frame
        parts = samples.in_groups(grouping.of, len(grouping.labels))
        self._groups = [
            _Group(functions, part, labels, frame)
            for part, labels in zip(parts, grouping.labels, strict=True)
            if len(part.facts.profile)
        ]
        self._first = np.cumsum([0, *(len(group.own) for group in self._groups)])
        nothing = np.zeros(0, np.int64)
        self.own = np.concatenate([nothing, *(group.own for group in self._groups)])
        self.total = np.concatenate([nothing, *(group.total for group in self._groups)])

    def key(self, place: int) -> dict[str, str]:
        """The group's labels, and what the frame key is called."""
        group, row = self._of(place)
        return group.key(row)

    def function_id(self, place: int) -> int | None:
        """The function, in a table of functions."""
        group, row = self._of(place)
        return int(group.keys[row]) if self._frame == "function" else None

    def details(self, places: Int64) -> list[Detail]:
        """Details of some rows, in their order."""
        group_of = np.searchsorted(self._first, places, side="right") - 1
        found: dict[int, Detail] = {}
        for number in np.unique(group_of).tolist():
            here = places[group_of == number]
            details = self._groups[number].details(here - self._first[number])
            found.update(zip(here.tolist(), details, strict=True))
        return [found[place] for place in places.tolist()]

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
        self._row = np.full(len(shape), -1, np.int64)
        self._row[used] = row
        self._outer = used[outermost[used]]
        self.own = sum_at(row, own[used], len(self.keys))
        self.total = sum_at(self._row[self._outer], totals[self._outer], len(self.keys))

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

    def details(self, rows: Int64) -> list[Detail]:
        """Details of some rows: with the facts sorted by node, a row's are a few slices of them."""
        samples, shape = self._samples, self._samples.shape
        order = np.argsort(shape.leaf, kind="stable")
        leaf = shape.leaf[order]
        machines, machine = distinct(samples.profiles.machine)
        machine = machine[samples.facts.profile[order]]
        counts = samples.facts.samples[order]
        running = np.concatenate(([0], np.cumsum(counts)))
        own = sum_at(np.maximum(self._row[leaf], 0), counts, len(self.keys))
        by_row = self._outer[np.argsort(self._row[self._outer], kind="stable")]
        bounds = np.searchsorted(self._row[by_row], [rows, rows + 1])
        found = []
        for row, low, high in zip(rows.tolist(), *bounds.tolist(), strict=True):
            starts = np.searchsorted(leaf, by_row[low:high])
            ends = np.searchsorted(leaf, shape.end[by_row[low:high]])
            total = int((running[ends] - running[starts]).sum())
            seen = 1 if len(machines) == 1 else _distinct(machine, starts, ends, len(machines))
            found.append(Detail(int(own[row]), total, seen))
        return found


def _distinct(values: Int64, starts: Int64, ends: Int64, size: int) -> int:
    """How many different values 0…size−1 the slices hold."""
    seen = np.zeros(size, np.bool_)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        seen[values[start:end]] = True
    return int(seen.sum())
