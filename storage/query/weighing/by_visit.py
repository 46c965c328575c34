"""What each visit brought to each row: what intervals, and counts of visits and machines, are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from storage.query import budget
from storage.query.arrays import Int64, ranges, sum_at

_DENSE = 4_000_000
"""Pairs of a row and a visit that are summed in a table of all of them."""

_AT_ONCE = 300_000
"""Facts of all rows together, some of several rows, that are gathered at once; more of them go row by row."""


@dataclass(frozen=True, slots=True)
class ByVisit:
    """Units by (row, visit), sparse: no pair twice, none without a unit."""

    row: Int64
    visit: Int64
    units: Int64
    rows: int

    @property
    def visits(self) -> Int64:
        """Number of visits of each row."""
        return np.bincount(self.row, minlength=self.rows)

    def machines(self, machine: Int64) -> Int64:
        """Number of different machines of each row; `machine` has that of every visit."""
        pairs = np.unique((self.row << 32) | machine[self.visit])
        return np.bincount(pairs >> 32, minlength=self.rows)


@dataclass(frozen=True, slots=True)
class Brought:
    """What visits brought to some rows, as their self and as their total."""

    self_samples: Int64
    """By row, like the next one."""
    total_samples: Int64
    own: ByVisit
    total: ByVisit


def of_pairs(row: Int64, visit: Int64, units: Int64, *, rows: int, visits: int) -> ByVisit:
    """From facts, each with its row (-1: none) and its visit."""
    there = row >= 0
    pair = row[there] * visits + visit[there]
    if rows * visits <= _DENSE:
        sums = sum_at(pair, units[there], rows * visits)
        found = np.flatnonzero(sums)
        return ByVisit(*_split(found, visits), sums[found], rows)
    found, place = np.unique(pair, return_inverse=True)
    return ByVisit(*_split(found, visits), sum_at(place, units[there], len(found)), rows)


def of_slices(
    first: Int64, starts: Int64, ends: Int64, visit: Int64, units: Int64, *, visits: int
) -> ByVisit:
    """From facts in an order where each row's are a few slices [start, end).

    Row i has the slices first[i]…first[i+1]−1; rows may share facts.
    """
    rows = len(first) - 1
    lengths = ends - starts
    if rows and int(lengths.sum()) <= _AT_ONCE:
        at = ranges(starts, ends)
        row_of = np.repeat(np.repeat(np.arange(rows), np.diff(first)), lengths)
        return of_pairs(row_of, visit[at], units[at], rows=rows, visits=visits)
    found: list[tuple[Int64, Int64, Int64]] = []
    for row, (low, high) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        budget.checkpoint()
        if high - low == 1:
            here: slice | Int64 = slice(int(starts[low]), int(ends[low]))
        else:
            here = ranges(starts[low:high], ends[low:high])
        visits_here, units_here = visit[here], units[here]
        if len(visits_here) > visits // 4:
            sums = sum_at(visits_here, units_here, visits)
            seen = np.flatnonzero(sums)
            sums = sums[seen]
        else:
            seen, place = np.unique(visits_here, return_inverse=True)
            sums = sum_at(place, units_here, len(seen))
        found.append((np.full(len(seen), row, np.int64), seen, sums))
    return joined([ByVisit(row, visit_, sums, rows) for row, visit_, sums in found], rows)


def joined(parts: Sequence[ByVisit], rows: int) -> ByVisit:
    """Parts that have no row in common."""
    nothing = np.zeros(0, np.int64)
    return ByVisit(
        row=np.concatenate([nothing, *(part.row for part in parts)]),
        visit=np.concatenate([nothing, *(part.visit for part in parts)]),
        units=np.concatenate([nothing, *(part.units for part in parts)]),
        rows=rows,
    )


def in_order(parts: Sequence[Brought], places: Int64) -> Brought:
    """The rows of all parts together, row i of them at place `places[i]`."""
    rows = len(places)
    first = np.cumsum([0, *(part.own.rows for part in parts)])

    def counts(columns: Sequence[Int64]) -> Int64:
        column = np.zeros(rows, np.int64)
        column[places] = np.concatenate([places[:0], *columns])
        return column

    def pairs(found: Sequence[ByVisit]) -> ByVisit:
        return joined([replace(f, row=places[n + f.row]) for n, f in zip(first, found, strict=False)], rows)

    return Brought(
        counts([part.self_samples for part in parts]),
        counts([part.total_samples for part in parts]),
        pairs([part.own for part in parts]),
        pairs([part.total for part in parts]),
    )


def _split(pair: Int64, visits: int) -> tuple[Int64, Int64]:
    row, visit = np.divmod(pair, max(visits, 1))
    return row, visit
