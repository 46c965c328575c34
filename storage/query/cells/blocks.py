"""Blocks: the cells of one hour, day or bucket of days, decoded as far as tables by function need them.

A block has the observed units of every function. For the hottest functions and those shown last it also has all inputs
of their intervals. Of forty numbers per function, these are four for all and the rest for a few hundred.
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
    """Observed units with the function as the leaf."""
    total: Int64
    """Observed units of stacks with the function."""
    own_weight: Float
    """Estimated units of the fleet, self."""
    total_weight: Float


@dataclass(frozen=True, slots=True)
class Spread:
    """Amounts of functions in each cell of a block: entries by function, then by cell."""

    first: Narrow
    """Where the entries of each function begin; each has at least one."""
    cell: Narrow
    total: Narrow
    """In multiples of the block's divisor, as is `own`."""
    own_place: Narrow
    """For the entries with self units: the number of the function."""
    own_cell: Narrow
    own: Narrow

    def weighted(self, weight: Float) -> tuple[Float, Float]:
        """Weighted sums by function, own and total; `weight` is that of each cell."""
        if not len(self.first):
            return np.zeros(0), np.zeros(0)
        total = np.add.reduceat(self.total * weight[self.cell], self.first)
        own = np.bincount(self.own_place, self.own * weight[self.own_cell], len(self.first))
        return own.astype(np.float64, copy=False), total


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """The cells of an hour or a day, sorted by key."""

    rows: Int64
    """Rows of its cells, with the columns of `block_source.OPEN`: (columns, cells)."""
    heads: Sums
    """In units, without functions."""
    divisor: int
    """Units that 1 stands for in the columns below."""
    function: Int32
    """Ascending, each once; all functions of the cells."""
    own: Narrow
    """Observed in all cells, as is `total`."""
    total: Narrow
    spread: Spread
    known: Int64
    """Functions for which `sums` is complete; ascending."""
    sums: Sums
    """In units."""
    stored: int = 0
    """Bytes of the cells as stored."""
    unpacked: int = 0
    """Bytes of the cells unpacked: what a query is charged if the block is cached."""

    def amounts(self, weight: Float) -> FunctionSums:
        """The amounts of the functions; `weight` is that of each cell."""
        own, total = self.spread.weighted(weight * float(self.divisor))
        units, units_in_all = (column.astype(np.int64) * self.divisor for column in (self.own, self.total))
        return FunctionSums(self.function.astype(np.int64), units, units_in_all, own, total)


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A few functions of the cells of an hour or a day, sorted by key: a series requests these repeatedly."""

    rows: Int64
    """As those of `OpenBlock`."""
    known: Int64
    """Functions for which `sums` is complete; ascending."""
    sums: Sums
    """In units."""
    stored: int
    """As in `OpenBlock`, as is `unpacked`."""
    unpacked: int


@dataclass(frozen=True, slots=True)
class ClosedBlock:
    """The cell of a bucket of days: of all applications together, or of one."""

    rows: Int64
    """With the columns of `block_source.CLOSED`."""
    heads: Parts
    """Without functions."""
    sums: FunctionSums
    known: Int64
    """Functions for which `parts` is complete; ascending."""
    parts: Parts
    stored: int = 0
    """Bytes of the cell as stored."""
    unpacked: int = 0
    """As in `OpenBlock`."""

    @property
    def function(self) -> Int64:
        """Ascending, each once."""
        return self.sums.function

    @property
    def own(self) -> Int64:
        """Observed self units."""
        return self.sums.own

    @property
    def total(self) -> Int64:
        """Observed units of stacks with the function."""
        return self.sums.total


def lacking(block: OpenBlock | ClosedBlock, functions: Int64) -> bool:
    """Whether any of these functions is in the cells but not among the known ones; `functions` ascend."""
    return bool((within(functions, block.function) & ~within(functions, block.known)).any())


def within(ids: Int64, ascending: Narrow) -> Bool:
    """Which of these ids are in `ascending`."""
    if not len(ascending):
        return np.zeros(len(ids), np.bool_)
    place = np.minimum(np.searchsorted(ascending, ids.astype(ascending.dtype)), len(ascending) - 1)
    found: Bool = ascending[place] == ids
    return found


@dataclass(frozen=True, slots=True)
class Entries:
    """Amounts of functions in cells; a function may occur in a cell more than once."""

    cell: Int64
    function: Int64
    own: Int64
    """Units."""
    total: Int64

    def of(self, keep: slice | Int64) -> "Entries":
        """The selected entries."""
        return Entries(self.cell[keep], self.function[keep], self.own[keep], self.total[keep])

    def by_function(self) -> "Entries":
        """Sorted by function, then by cell, each pair once."""
        order, first = by_pair(self.function, self.cell)
        if not len(order):
            return self
        lead = order[first]
        own, total = (np.add.reduceat(column[order], first) for column in (self.own, self.total))
        return Entries(self.cell[lead], self.function[lead], own, total)


def open_block(
    rows: Int64, heads: Sums, entries: Entries, *, stored: int = 0, unpacked: int = 0
) -> OpenBlock:
    """A block of these entries, whose cells are counted from 0, without squares of functions."""
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
    """A block of the amounts in its one cell, without squares of functions."""
    a = amounts
    # Copies, so that a block cached for days does not keep the other unpacked columns alive.
    sums = FunctionSums(
        a.function.copy(), a.own_units.copy(), a.total_units.copy(), a.own.copy(), a.total.copy()
    )
    return ClosedBlock(rows, heads, sums, np.zeros(0, np.int64), heads, stored, unpacked)
