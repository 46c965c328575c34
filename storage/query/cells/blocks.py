"""The cells of one hour, day or bucket of days, decoded as far as tables by function ask for them.

A block says of every function what was observed of it, and of those that were shown lately all that their intervals take: of
forty numbers a function these are four for all of them and the rest for a thousand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.query.arrays import Bool, Float, Int32, Int64, group_starts, sum_at, weight_at
from storage.query.cells.function_sums import FunctionSums
from storage.rolling.moments import Sums
from storage.rolling.sorting import by_pair
from storage.rolling.weighted import Parts, WeightedAmounts


@dataclass(frozen=True, slots=True)
class Spread:
    """What functions have in each cell of a block: entries by function, then by cell."""

    first: Int64
    """Where the entries of each function begin; none has no entry."""
    cell: Int32
    total: Float
    """Units, whole numbers."""
    own_place: Int32
    """Of those entries that have units of their own: the number of the function."""
    own_cell: Int32
    own: Float

    def weighted(self, weight: Float) -> tuple[Float, Float]:
        """Units of the fleet by function, own and total; `weight` is that of each cell."""
        if not len(self.first):
            return np.zeros(0), np.zeros(0)
        total = np.add.reduceat(self.total * weight[self.cell], self.first)
        own = np.bincount(self.own_place, self.own * weight[self.own_cell], len(self.first))
        return own.astype(np.float64, copy=False), total


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """The cells of an hour or a day, in the order of their keys."""

    rows: Int64
    """Of its cells, as `block_source.OPEN` names their columns: (columns, cells)."""
    heads: Sums
    """In units, without functions."""
    function: Int64
    """Ascending, each once; those that any cell has."""
    own: Int64
    """Units observed in all cells."""
    total: Int64
    spread: Spread
    known: Int64
    """Functions of which `sums` has whatever the cells have; ascending."""
    sums: Sums
    """In units."""

    def amounts(self, weight: Float) -> FunctionSums:
        """What the functions have; `weight` is that of each cell."""
        own, total = self.spread.weighted(weight)
        return FunctionSums(self.function, self.own, self.total, own, total)


@dataclass(frozen=True, slots=True)
class ClosedBlock:
    """The cells of a bucket of days, in the order of their keys."""

    rows: Int64
    """As `block_source.CLOSED` names their columns."""
    heads: Parts
    """Without functions."""
    counted: bool
    """It is known what was observed of the functions."""
    sums: FunctionSums
    known: Int64
    """Functions of which `parts` has whatever the cells have; ascending."""
    parts: Parts

    @property
    def function(self) -> Int64:
        """Ascending, each once."""
        return self.sums.function


def lacking(block: OpenBlock | ClosedBlock, functions: Int64) -> bool:
    """Whether any of these functions stands in the cells but is not among those that are known; they ascend."""
    return bool((_within(functions, block.function) & ~_within(functions, block.known)).any())


def _within(ids: Int64, ascending: Int64) -> Bool:
    if not len(ascending):
        return np.zeros(len(ids), np.bool_)
    place = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    found: Bool = ascending[place] == ids
    return found


@dataclass(frozen=True, slots=True)
class Entries:
    """What cells have of functions; a function may stand in a cell more than once."""

    cell: Int64
    function: Int64
    own: Int64
    """Units."""
    total: Int64

    def of(self, keep: slice | Int64) -> "Entries":
        """Some of them."""
        return Entries(self.cell[keep], self.function[keep], self.own[keep], self.total[keep])

    def by_function(self) -> "Entries":
        """In the order of functions and then of cells, each pair once."""
        order, first = by_pair(self.function, self.cell)
        if not len(order):
            return self
        lead = order[first]
        own, total = (np.add.reduceat(column[order], first) for column in (self.own, self.total))
        return Entries(self.cell[lead], self.function[lead], own, total)


def open_block(rows: Int64, heads: Sums, entries: Entries) -> OpenBlock:
    """A block of these entries, whose cells are counted from 0; squares of none of its functions are known."""
    e = entries.by_function()
    first = group_starts(e.function)
    own = np.flatnonzero(e.own)
    place = np.cumsum(np.bincount(first, minlength=len(e.function)))[own] - 1 if len(first) else own
    spread = Spread(
        first,
        e.cell.astype(np.int32),
        e.total.astype(np.float64),
        place.astype(np.int32),
        e.cell[own].astype(np.int32),
        e.own[own].astype(np.float64),
    )
    none = not len(first)
    return OpenBlock(
        rows,
        heads,
        e.function[first],
        e.own if none else np.add.reduceat(e.own, first),
        e.total if none else np.add.reduceat(e.total, first),
        spread,
        np.zeros(0, np.int64),
        heads,
    )


def closed_block(
    rows: Int64, heads: Parts, cells: Sequence[WeightedAmounts], *, counted: bool
) -> ClosedBlock:
    """A block of these cells, each of which has its functions in ascending order; squares of none are known."""
    if len(cells) == 1:
        (one,) = cells
        sums = FunctionSums(one.function, one.own_units, one.total_units, one.own, one.total)
    else:
        function, place = np.unique(np.concatenate([c.function for c in cells]), return_inverse=True)
        own, total = (
            sum_at(place, np.concatenate([getattr(c, name) for c in cells]), len(function))
            for name in ("own_units", "total_units")
        )
        own_weight, total_weight = (
            weight_at(place, np.concatenate([getattr(c, name) for c in cells]), len(function))
            for name in ("own", "total")
        )
        sums = FunctionSums(function, own, total, own_weight, total_weight)
    return ClosedBlock(rows, heads, counted, sums, np.zeros(0, np.int64), heads)
