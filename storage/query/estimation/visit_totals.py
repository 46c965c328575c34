"""The amounts of each visit in each row: the input of intervals, and of counts of visits and machines."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.arrays import Int64, group_starts, in_doubles, ranges, sum_at, weight_at
from storage.snapshots import query_budget

_DENSE = 4_000_000
"""(row, visit) pairs up to which sums use a dense table."""

_AT_ONCE = 300_000
"""Facts gathered at once, counted once per row."""
_BLOCK = 64
"""Minimum number of facts of a block. A block has as many facts as there are visits, if these are more, so that its
sums take no more memory than its facts."""


_Amounts = npt.NDArray[Any]
"""Integers, as such or as doubles."""


@dataclass(frozen=True, slots=True)
class PerVisit:
    """Units by (row, visit), sparse: each pair once, with at least one unit."""

    row: Int64
    visit: Int64
    units: Int64
    rows: int

    @property
    def visits(self) -> Int64:
        """Number of visits of each row."""
        return np.bincount(self.row, minlength=self.rows)

    def machines(self, machine: Int64) -> Int64:
        """Number of distinct machines of each row; `machine` has that of every visit."""
        pairs = np.unique((self.row << 32) | machine[self.visit])
        return np.bincount(pairs >> 32, minlength=self.rows)


@dataclass(frozen=True, slots=True)
class Contributions:
    """The amounts of visits in some rows, as self and as total."""

    self_samples: Int64
    """By row, as is `total_samples`."""
    total_samples: Int64
    own: PerVisit
    total: PerVisit


def of_pairs(row: Int64, visit: Int64, units: Int64, *, rows: int, visits: int) -> PerVisit:
    """Sum facts, each with its row (-1 for none) and its visit."""
    there = row >= 0
    pair = row[there] * visits + visit[there]
    if rows * visits <= _DENSE:
        sums = sum_at(pair, units[there], rows * visits)
        found = np.flatnonzero(sums)
        return PerVisit(*_split(found, visits), sums[found], rows)
    found, place = np.unique(pair, return_inverse=True)
    return PerVisit(*_split(found, visits), sum_at(place, units[there], len(found)), rows)


def of_slices(
    first: Int64, starts: Int64, ends: Int64, visit: Int64, units: Int64, *, visits: int
) -> PerVisit:
    """Sum facts that are ordered so that each row's are a few slices [start, end).

    Row i has the slices first[i]…first[i+1]−1; rows may share facts.
    """
    rows = len(first) - 1
    if rows * visits <= _DENSE:
        sums = _in_blocks(
            np.repeat(np.arange(rows), np.diff(first)), starts, ends, visit, units, rows=rows, visits=visits
        )
        found = np.flatnonzero(sums)
        return PerVisit(*_split(found, visits), sums[found], rows)
    parts: list[PerVisit] = []
    for row, (low, high) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        query_budget.checkpoint()
        here = ranges(starts[low:high], ends[low:high])
        visits_here, units_here = visit[here], units[here]
        if len(visits_here) > visits // 4:
            of_each = sum_at(visits_here, units_here, visits)
            seen = np.flatnonzero(of_each)
            of_each = of_each[seen]
        else:
            seen, place = np.unique(visits_here, return_inverse=True)
            of_each = sum_at(place, units_here, len(seen))
        parts.append(PerVisit(np.full(len(seen), row, np.int64), seen, of_each, rows))
    return joined(parts, rows)


def _in_blocks(
    row: Int64, starts: Int64, ends: Int64, visit: Int64, units: Int64, *, rows: int, visits: int
) -> Int64:
    """Sums of slices by (row, visit), one row after the other; `row` is that of each slice, ascending.

    Rows that contain nearly everything, such as a program's `main`, share most of their facts. So the whole blocks of a
    slice are the difference of two running sums, and only its two ends are summed fact by fact.
    """
    size = max(_BLOCK, visits)
    low, high = -(-starts // size), ends // size
    whole = np.flatnonzero(high > low)
    # In doubles, in which `bincount` adds, while they hold every sum: this avoids conversions.
    amounts: _Amounts = units.astype(np.float64) if in_doubles(units) else units
    sums: _Amounts = np.zeros((rows, visits), amounts.dtype)
    if len(whole):
        blocks = int(high.max())
        of = np.repeat(np.arange(0, blocks * visits, visits), size) + visit[: blocks * size]
        running = np.zeros((blocks + 1, visits), amounts.dtype)
        np.cumsum(
            _added(of, amounts[: blocks * size], blocks * visits).reshape(blocks, visits),
            axis=0,
            out=running[1:],
        )
        piece = max(
            _DENSE // visits, 1
        )  # in slices: many of a few rows take more memory than these rows by visit
        for begun in range(0, len(whole), piece):
            query_budget.checkpoint()
            these = whole[begun : begun + piece]
            lead = group_starts(row[these])
            more = running[high[these]] - running[low[these]]
            sums[row[these[lead]]] += np.add.reduceat(more, lead, axis=0)
    # A slice without a whole block has one end only.
    until, again = ends.copy(), ends.copy()
    until[whole], again[whole] = low[whole] * size, high[whole] * size
    begin, end = np.stack((starts, again), axis=1).ravel(), np.stack((until, ends), axis=1).ravel()
    some = np.flatnonzero(end > begin)
    begin, end, of_end = begin[some], end[some], row[some >> 1]
    lengths = end - begin
    together = np.cumsum(lengths) // _AT_ONCE
    for a, b in itertools.pairwise([*group_starts(together).tolist(), len(together)]):
        query_budget.checkpoint()
        at = ranges(begin[a:b], end[a:b])
        lowest = int(of_end[a])
        of = np.repeat((of_end[a:b] - lowest) * visits, lengths[a:b]) + visit[at]
        highest = int(of_end[b - 1]) + 1
        sums[lowest:highest] += _added(of, amounts[at], (highest - lowest) * visits).reshape(-1, visits)
    return sums.ravel().astype(np.int64, copy=False)


def _added(of: Int64, amounts: _Amounts, size: int) -> _Amounts:
    """Sums of amounts by `of`, 0…size−1, in their own type."""
    return (weight_at if amounts.dtype == np.float64 else sum_at)(of, amounts, size)


def no_visits(rows: int) -> PerVisit:
    """Rows without any visit's amounts."""
    return PerVisit(*(np.zeros(0, np.int64),) * 3, rows)


def joined(parts: Sequence[PerVisit], rows: int) -> PerVisit:
    """Concatenate parts that have no row in common."""
    nothing = np.zeros(0, np.int64)
    return PerVisit(
        row=np.concatenate([nothing, *(part.row for part in parts)]),
        visit=np.concatenate([nothing, *(part.visit for part in parts)]),
        units=np.concatenate([nothing, *(part.units for part in parts)]),
        rows=rows,
    )


def in_order(parts: Sequence[Contributions], places: Int64) -> Contributions:
    """The rows of all parts together, row i at position `places[i]`."""
    rows = len(places)
    first = np.cumsum([0, *(part.own.rows for part in parts)])

    def counts(columns: Sequence[Int64]) -> Int64:
        column = np.zeros(rows, np.int64)
        column[places] = np.concatenate([places[:0], *columns])
        return column

    def pairs(found: Sequence[PerVisit]) -> PerVisit:
        return joined([replace(f, row=places[n + f.row]) for n, f in zip(first, found, strict=False)], rows)

    return Contributions(
        counts([part.self_samples for part in parts]),
        counts([part.total_samples for part in parts]),
        pairs([part.own for part in parts]),
        pairs([part.total for part in parts]),
    )


def _split(pair: Int64, visits: int) -> tuple[Int64, Int64]:
    row, visit = np.divmod(pair, max(visits, 1))
    return row, visit
