"""The cells of one hour, day or bucket of days, decoded as far as tables by function ask for them.

A block says of every function what was observed of it, and of the hottest and those that were shown last all that their intervals
take: of forty numbers a function these are four for all of them and the rest for a few hundred.
"""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Float, Int32, Int64, Narrow, by_pair, group_starts, narrow
from storage.rollup.long_moments import Parts
from storage.rollup.long_moments_codec import WeightedAmounts
from storage.rollup.moments import Sums


@dataclass(frozen=True, slots=True)
class FunctionSums:
    """Columns over functions, ascending, each once."""

    function: Int64
    own: Int64
    """Units observed that end in the function."""
    total: Int64
    """Units observed of stacks that have it."""
    own_weight: Float
    """Units of the fleet that they stand for."""
    total_weight: Float


@dataclass(frozen=True, slots=True)
class Spread:
    """What functions have in each cell of a block: entries by function, then by cell."""

    first: Narrow
    """Where the entries of each function begin; none has no entry."""
    cell: Narrow
    total: Narrow
    """In multiples of the block's divisor, as `own`."""
    own_place: Narrow
    """Of those entries that have units of their own: the number of the function."""
    own_cell: Narrow
    own: Narrow

    def weighted(self, weight: Float) -> tuple[Float, Float]:
        """Sums by function, own and total, of what weighs so much in each cell."""
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
    divisor: int
    """Units that 1 stands for in the columns below."""
    function: Int32
    """Ascending, each once; those that any cell has."""
    own: Narrow
    """Observed in all cells."""
    total: Narrow
    spread: Spread
    known: Int64
    """Functions of which `sums` has whatever the cells have; ascending."""
    sums: Sums
    """In units."""
    stored: int = 0
    """Bytes that the cells take as they are stored."""
    unpacked: int = 0
    """Bytes that they take unpacked: what a question is charged that finds the block cached."""

    def amounts(self, weight: Float) -> FunctionSums:
        """What the functions have; `weight` is that of each cell."""
        own, total = self.spread.weighted(weight * float(self.divisor))
        units, units_in_all = (column.astype(np.int64) * self.divisor for column in (self.own, self.total))
        return FunctionSums(self.function.astype(np.int64), units, units_in_all, own, total)


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """The cells of an hour or a day as far as a few functions go, in the order of their keys: what a series asks again and again."""

    rows: Int64
    """As those of `OpenBlock`."""
    known: Int64
    """Functions of which `sums` has whatever the cells have; ascending."""
    sums: Sums
    """In units."""
    stored: int
    """As that of `OpenBlock`, and the next one."""
    unpacked: int


@dataclass(frozen=True, slots=True)
class ClosedBlock:
    """The cell of a bucket of days: of all there is, or of one application."""

    rows: Int64
    """As `block_source.CLOSED` names their columns."""
    heads: Parts
    """Without functions."""
    sums: FunctionSums
    known: Int64
    """Functions of which `parts` has whatever the cells have; ascending."""
    parts: Parts
    stored: int = 0
    """Bytes that the cell takes as it is stored."""
    unpacked: int = 0
    """As that of `OpenBlock`."""

    @property
    def function(self) -> Int64:
        """Ascending, each once."""
        return self.sums.function

    @property
    def own(self) -> Int64:
        """Units observed, like the next one."""
        return self.sums.own

    @property
    def total(self) -> Int64:
        """Of stacks that have the function."""
        return self.sums.total


def lacking(block: OpenBlock | ClosedBlock, functions: Int64) -> bool:
    """Whether any of these functions stands in the cells but is not among those that are known; they ascend."""
    return bool((within(functions, block.function) & ~within(functions, block.known)).any())


def within(ids: Int64, ascending: Narrow) -> Bool:
    """Which of these ids are among others, which ascend."""
    if not len(ascending):
        return np.zeros(len(ids), np.bool_)
    place = np.minimum(np.searchsorted(ascending, ids.astype(ascending.dtype)), len(ascending) - 1)
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


def open_block(
    rows: Int64, heads: Sums, entries: Entries, *, stored: int = 0, unpacked: int = 0
) -> OpenBlock:
    """A block of these entries, whose cells are counted from 0; squares of none of its functions are known."""
    e = entries.by_function()
    divisor = int(np.gcd.reduce(np.concatenate((e.own, e.total)), initial=0)) or 1
    e = Entries(e.cell, e.function, e.own // divisor, e.total // divisor)
    first = group_starts(e.function)
    own = np.flatnonzero(e.own)
    place = np.cumsum(np.bincount(first, minlength=len(e.function)))[own] - 1 if len(first) else own
    spread = Spread(
        narrow(first),
        narrow(e.cell),
        narrow(e.total),
        narrow(place),
        narrow(e.cell[own]),
        narrow(e.own[own]),
    )
    none = not len(first)
    return OpenBlock(
        rows,
        heads,
        divisor,
        e.function[first].astype(np.int32),
        narrow(e.own if none else np.add.reduceat(e.own, first)),
        narrow(e.total if none else np.add.reduceat(e.total, first)),
        spread,
        np.zeros(0, np.int64),
        heads,
        stored,
        unpacked,
    )


def closed_block(
    rows: Int64, heads: Parts, amounts: WeightedAmounts, *, stored: int = 0, unpacked: int = 0
) -> ClosedBlock:
    """A block of what its one cell has of functions; squares of none are known."""
    a = amounts
    # What is kept for days must not hold columns of what was unpacked beside it.
    sums = FunctionSums(
        a.function.copy(), a.own_units.copy(), a.total_units.copy(), a.own.copy(), a.total.copy()
    )
    return ClosedBlock(rows, heads, sums, np.zeros(0, np.int64), heads, stored, unpacked)
