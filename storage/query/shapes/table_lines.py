"""Rows of source lines: (function, line) or (file, line); line 0 holds the samples without a known line.

Self is exact: a function's lines, line 0 among them, add up to the function. A line's total in a function is exact
too, since a recursive line counts a sample once; in a file it is the sum over the functions there. Line 0 has the
stacks of functions without any line, counted once. For functions with lines it has the total minus the totals of all
lines, but at least the self that no line has (the lines of a recursive function may have more than its total).
Functions that occur in no stack are left out, and so are their lines.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from storage.arrays import Bool, Float, Int64, distinct, sum_at, weight_at
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_totals import Contributions, PerVisit
from storage.query.line_samples import LinedSamples
from storage.query.samples import Samples
from storage.query.shapes.frame_keys import LINE, FrameKeys, Numbering
from storage.query.shapes.table_frames import FrameRows
from storage.query.shapes.table_rows import Grouping
from storage.query.stacks import prefix_tree
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget

Add = Callable[[Int64, Any, int], Any]
"""Sums of integers or floats by an index 0…n−1."""
_LINE_BITS = 31


@dataclass(frozen=True, slots=True)
class Lines:
    """Columns over the line facts of one group."""

    function: Int64
    line: Int64
    visit: Int64
    own_samples: Int64
    total_samples: Int64
    own: Int64
    """Units, like `total`."""
    total: Int64
    weight: Float
    """Units of the fleet that one observed unit stands for."""

    def of(self, places: Int64 | Bool) -> "Lines":
        """Some of them."""
        return replace(self, **{name: getattr(self, name)[places] for name in self.__slots__})


def line_rows(
    functions: Functions, lined: LinedSamples, grouping: Grouping, of_lines: Int64, keys: FrameKeys
) -> FrameRows:
    """The rows of these frame keys; `of_lines` is the group of each profile with lines."""
    facts = lined.lines
    period = facts.profiles.period[facts.profile]
    visit = lined.visit[facts.profile]
    group = of_lines[facts.profile]
    lines = Lines(
        facts.function,
        facts.line,
        visit,
        facts.own,
        facts.total,
        facts.own * period,
        facts.total * period,
        lined.visits.weight[visit],
    )
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(grouping.labels) + 1))
    parts = lined.samples.in_groups(grouping.of, len(grouping.labels))
    groups = []
    for number, (part, labels) in enumerate(zip(parts, grouping.labels, strict=True)):
        if len(part.facts.profile):
            here = order[bounds[number] : bounds[number + 1]]
            groups.append(LineGroup(functions, part, labels, keys, lines.of(here)))
    return FrameRows(lined.samples, groups, functions=False)


class LineGroup:
    """The lines of one combination of labels."""

    def __init__(
        self, functions: Functions, samples: Samples, labels: dict[str, str], keys: FrameKeys, lines: Lines
    ) -> None:
        query_budget.checkpoint()
        self._samples = samples
        self._labels = labels
        self._by_function = keys[0] == "function"
        shape = samples.shape
        used, which = distinct(shape.function)
        self._numbering = Numbering.of(functions, used, keys)
        numbers = self._numbering.numbers
        of_line, there = _places(used, lines.function)
        if not there.all():
            lines, of_line = lines.of(there), of_line[there]
        self._lines = lines
        own = shape.self_at(samples.facts.units)
        self._rest = _Rest.of(shape, which, of_line, numbers, own, lines)
        known, rest = (numbers[of_line] << _LINE_BITS) | lines.line, numbers << _LINE_BITS
        rows, place = np.unique(np.concatenate((known, rest)), return_inverse=True)
        totals = self._sums(sum_at, place, own, shape.totals(own), (lines.own, lines.total))
        present = np.flatnonzero(totals[1])
        self.keys = rows[present]
        row_of = np.full(len(rows), -1, np.int64)
        row_of[present] = np.arange(len(present))
        self._row_of_line, self._row_of_rest = np.split(row_of[place], [len(known)])
        self.own, self.total = (values[present] for values in totals)
        own_weight = shape.weight_at(samples.weighted)
        weighted = self._sums(
            weight_at,
            place,
            own_weight,
            shape.weight_totals(own_weight),
            (lines.own * lines.weight, lines.total * lines.weight),
        )
        # Differences of equal floats are not always 0.
        self.own_weight, self.total_weight = (
            np.where(units > 0, np.maximum(values[present], 0.0), 0.0)
            for units, values in zip((self.own, self.total), weighted, strict=True)
        )

    def key(self, row: int) -> dict[str, str]:
        """The labels, and the names of the row's keys; line 0 stands for samples without a known line."""
        number, line = divmod(int(self.keys[row]), 1 << _LINE_BITS)
        return {**self._labels, **self._numbering.key(number), LINE: str(line)}

    def function_id(self, row: int) -> int | None:
        """The row's function; None for lines of files."""
        return int(self.keys[row]) >> _LINE_BITS if self._by_function else None

    def contributions(self, rows: Int64, *, totals: bool) -> Contributions:  # noqa: ARG002 - lines have both
        """The units of each visit in some rows."""
        samples, lines, rest = self._samples, self._lines, self._rest
        shape, seen, size, visits = samples.shape, samples.seen, len(rows), len(samples.evidence)
        row_of = np.full(len(self.keys) + 1, -1, np.int64)
        row_of[rows] = np.arange(size)
        of_line, of_rest = row_of[self._row_of_line], row_of[self._row_of_rest]

        def pairs(row: Int64, visit: Int64, units: Int64) -> PerVisit:
            return visit_totals.of_pairs(row, visit, units, rows=size, visits=visits)

        lines_of_rest = of_rest[rest.of_line]
        leaves = np.where(seen.leaf == prefix_tree.ROOT, -1, of_rest[rest.of_node][seen.leaf])
        own_line = pairs(of_line, lines.visit, lines.own)
        own_leaf = pairs(leaves, seen.visit, seen.units)
        own = _combined((own_line, own_leaf), (pairs(lines_of_rest, lines.visit, lines.own),), visits)
        by_own = rest.by_own[rest.of_node][seen.leaf]
        lines_by_own = rest.by_own[rest.of_line]
        total = _combined(
            (
                pairs(of_line, lines.visit, lines.total),
                self._slices(of_rest, size),
                pairs(np.where(by_own, leaves, -1), seen.visit, seen.units),
            ),
            (
                pairs(
                    np.where(rest.by_difference[rest.of_line], lines_of_rest, -1), lines.visit, lines.total
                ),
                pairs(np.where(lines_by_own, lines_of_rest, -1), lines.visit, lines.own),
            ),
            visits,
        )
        counts = shape.self_at(samples.facts.samples)
        place = np.concatenate((of_line, of_rest))
        counted = self._sums(
            sum_at,
            np.where(place < 0, size, place),
            counts,
            shape.totals(counts),
            (lines.own_samples, lines.total_samples),
        )
        return Contributions(counted[0][:size], counted[1][:size], own, total)

    def _sums(
        self, add: Add, place: Any, own: Any, totals: Any, of_lines: tuple[Any, Any]
    ) -> tuple[Any, Any]:
        """Self and total by row, from nodes and lines; `place` is the row of each line, then of each line 0."""
        size = int(place.max(initial=-1)) + 1
        rest = self._rest.sums(add, own, totals, *of_lines)
        own_, total = (
            add(place, np.concatenate((lines, beside)), size)
            for lines, beside in zip(of_lines, rest, strict=True)
        )
        return own_, total

    def _slices(self, of_rest: Int64, size: int) -> PerVisit:
        """The units of visits at and below the nodes whose totals count for line 0 of some rows."""
        samples, rest = self._samples, self._rest
        shape, seen = samples.shape, samples.seen
        row = of_rest[rest.of_node[rest.nodes]]
        nodes, row = rest.nodes[row >= 0], row[row >= 0]
        by_row = np.argsort(row, kind="stable")
        nodes = nodes[by_row]
        first = np.searchsorted(row[by_row], np.arange(size + 1))
        order, below = shape.by_node(seen.leaf)
        return visit_totals.of_slices(
            first,
            below[nodes],
            below[shape.end[nodes]],
            seen.visit[order],
            seen.units[order],
            visits=len(samples.evidence),
        )


@dataclass(frozen=True, slots=True)
class _Rest:
    """Line 0 of each used function: the nodes and lines it is computed from."""

    of_node: Int64
    """By node, its function as an index 0…n−1 of the used functions; `of_line` is the same by line."""
    of_line: Int64
    nodes: Int64
    """Nodes whose totals count: the outermost ones of functions without lines, and of functions in `by_difference`."""
    by_difference: Bool
    """By function: its total is that of its nodes minus that of its lines."""
    by_own: Bool
    """By function: its total is its self."""

    @classmethod
    def of(  # noqa: PLR0917 - what one group of samples has
        cls, shape: Shape, of_node: Int64, of_line: Int64, numbers: Int64, own: Int64, lines: Lines
    ) -> "_Rest":
        """For functions with these numbers, whose nodes have `own` units."""
        size, totals = len(numbers), shape.totals(own)
        outer = np.flatnonzero(shape.outermost)
        of_lines = sum_at(of_line, lines.total, size)
        lack = sum_at(of_node[outer], totals[outer], size) - of_lines
        own_lack = sum_at(of_node[1:], own[1:], size) - sum_at(of_line, lines.own, size)
        lined = of_lines > 0
        by_difference = lined & (lack > own_lack)
        without = np.flatnonzero(~lined[of_node[1:]]) + 1
        alone = without[prefix_tree.outermost_among(without, numbers[of_node[without]], shape.end)]
        nodes = np.concatenate((alone, outer[by_difference[of_node[outer]]]))
        return cls(of_node, of_line, nodes, by_difference, lined & ~by_difference)

    def sums(self, add: Add, own: Any, totals: Any, lines_own: Any, lines_total: Any) -> tuple[Any, Any]:
        """Self and total of line 0 by function, from the values of nodes and lines."""
        size = len(self.by_own)
        own_rest = add(self.of_node[1:], own[1:], size) - add(self.of_line, lines_own, size)
        total = add(self.of_node[self.nodes], totals[self.nodes], size)
        total -= np.where(self.by_difference, add(self.of_line, lines_total, size), 0)
        return own_rest, total + np.where(self.by_own, own_rest, 0)


def _places(used: Int64, ids: Int64) -> tuple[Int64, Bool]:
    """The place of each id among ascending ids, of which there is at least one, and whether the id is among them."""
    places = np.minimum(np.searchsorted(used, ids), len(used) - 1)
    return places, used[places] == ids


def _combined(plus: Sequence[PerVisit], minus: Sequence[PerVisit], visits: int) -> PerVisit:
    """The sum of `plus` minus the sum of `minus`; all have the same rows."""
    parts = [(1, part) for part in plus] + [(-1, part) for part in minus]
    pair = np.concatenate([part.row * visits + part.visit for _, part in parts])
    found, place = np.unique(pair, return_inverse=True)
    units = np.zeros(len(found), np.int64)
    np.add.at(units, place, np.concatenate([sign * part.units for sign, part in parts]))
    row, visit = np.divmod(found[units != 0], max(visits, 1))
    return PerVisit(row, visit, units[units != 0], plus[0].rows)
