"""Sums over the visits of a cell, from which the variance of an estimate follows (docs/numbers.md).

A visit v has x_v units in a cell and, for each function f, y_vf units with f as the leaf (self) or anywhere in the
stack (total; a recursive stack counts once). A cell stores Σx, Σx², Σx⁴ and Σx·X, where X is the visit's amount in the
whole event, and for each function Σy, Σy², Σx·y, Σy⁴ for self and total. All are additive, and a visit can be
subtracted. Machines are counted by linear counting (Whang, Vander-Zanden and Taylor 1990): one of `SLOTS` bits for
each, merged by OR. A visit that is subtracted leaves its bit.

All amounts are doubles in multiples of a cell's `divisor`. Sums below 2⁵³ are then exact: with periods that are
multiples of one another that is 9·10¹⁵ squared samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Float, Int64, among, by_pair, counts, runs

Column = npt.NDArray[Any]

SLOTS = 62
"""Bits for counting machines: the estimate errs by about a tenth at a hundred machines."""
_LEAST_UNSET = 4
"""With fewer unset bits no estimate is given: with one, both 200 and 500 machines are estimated as 256."""
MOST_MACHINES = 170
"""Maximum number of machines that the bits can count."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Columns over cells, and over their functions, cell by cell and ascending within each."""

    divisor: Int64
    """Units that 1 stands for."""
    visits: Int64
    """Visits with at least one sample in the cell."""
    machines: Int64
    """Bits of the cell's machines."""
    x: Float
    xx: Float
    xxxx: Float
    xe: Float
    """Σ x·X."""
    count: Int64
    """Rows of each cell, one per function."""
    function: Int64
    row_visits: Int64
    """Visits with the function in a stack."""
    row_machines: Int64
    own: Int64
    """Σy for self."""
    total: Int64
    own2: Float
    total2: Float
    own_x: Float
    total_x: Float
    own4: Float
    total4: Float

    def __len__(self) -> int:
        return len(self.visits)

    @property
    def cell(self) -> Int64:
        """The cell of each row, counted from 0."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def in_units(self) -> "Sums":
        """Scaled to divisor 1, the input of formulas."""
        return self.in_multiples_of(np.ones_like(self.divisor))

    def in_multiples_of(self, divisor: Int64) -> "Sums":
        """Rescaled to other divisors, each of which divides the cell's."""
        return self._scaled(self.divisor // divisor, divisor)

    def of(self, cells: Int64) -> "Sums":
        """The given cells, in the given order."""
        if len(cells) == len(self) and (cells == np.arange(len(cells))).all():
            return self
        first = np.cumsum(self.count) - self.count
        rows = runs(first[cells], self.count[cells])
        return Sums(
            *(column[cells] for column in self.cell_columns()), *(c[rows] for c in self.row_columns())
        )

    def of_functions(self, wanted: Bool) -> "Sums":
        """The cells with only the functions that are `wanted` by id."""
        keep = among(self.function, wanted)
        cells = list(self.cell_columns())
        cells[-1] = counts(self.cell[keep], len(self))
        return Sums(*cells, *(column[keep] for column in self.row_columns()))

    def cell_columns(self) -> Iterator[Column]:
        """The columns from `divisor` to `count`."""
        return (getattr(self, field.name) for field in fields(self)[:_CELL_COLUMNS])

    def row_columns(self) -> Iterator[Column]:
        """The columns from `function` to `total4`."""
        return (getattr(self, field.name) for field in fields(self)[_CELL_COLUMNS:])

    def negative(self) -> Bool:
        """Cells from which more was subtracted than they held."""
        bad = (self.visits < 0) | (self.x < 0)
        bad[self.cell[(self.row_visits < 0) | (self.own < 0) | (self.total < 0)]] = True
        return bad

    def _scaled(self, factor: Int64, divisor: Int64) -> "Sums":
        if (factor == 1).all():
            return self
        f = factor.astype(np.float64)
        rows, r = np.repeat(factor, self.count), np.repeat(f, self.count)
        return replace(
            self,
            divisor=divisor,
            x=self.x * f,
            xx=self.xx * f**2,
            xxxx=self.xxxx * f**4,
            xe=self.xe * f**2,
            own=self.own * rows,
            total=self.total * rows,
            own2=self.own2 * r**2,
            total2=self.total2 * r**2,
            own_x=self.own_x * r**2,
            total_x=self.total_x * r**2,
            own4=self.own4 * r**4,
            total4=self.total4 * r**4,
        )


_CELL_COLUMNS = 8


def empty(cells: int) -> Sums:
    """Sums of no visits for this many cells; their divisor is 0, which any divisor divides."""
    none, no_rows = np.zeros(cells, np.int64), np.zeros(0, np.int64)
    zero, nothing = np.zeros(cells), np.zeros(0)
    return Sums(
        np.zeros(cells, np.int64), none, none, zero, zero, zero, zero, none,
        *(no_rows,) * 5, *(nothing,) * 6,
    )  # fmt: skip


def concatenated(parts: Sequence[Sums]) -> Sums:
    """The cells of all parts, one part after the other; at least one part."""
    if len(parts) == 1:
        return parts[0]
    cells = zip(*(part.cell_columns() for part in parts), strict=True)
    rows = zip(*(part.row_columns() for part in parts), strict=True)
    return Sums(*map(np.concatenate, (*cells, *rows)))


def add(a: Sums, b: Sums) -> Sums:
    """The sums of both, cell by cell, without functions that have no visits left."""
    divisor = np.gcd(a.divisor, b.divisor)
    divisor[divisor == 0] = 1
    a, b = a.in_multiples_of(divisor), b.in_multiples_of(divisor)
    cell, place_a, place_b = _union(a.cell, a.function, b.cell, b.function)
    rows = []
    for i, (old, new) in enumerate(zip(a.row_columns(), b.row_columns(), strict=True)):
        column = np.zeros(len(cell), old.dtype)
        column[place_a] = old
        if i == _FUNCTION_ROW:
            column[place_b] = new
        elif i == _MACHINES_ROW:
            column[place_b] |= new
        else:
            column[place_b] += new
        rows.append(column)
    # Rounding must not make a sum of squares negative after a subtraction.
    squares = [np.maximum(old + new, 0.0) for old, new in ((a.xx, b.xx), (a.xxxx, b.xxxx), (a.xe, b.xe))]
    if len(b.row_visits) and int(b.row_visits.min()) < 1:  # something was subtracted
        there = rows[1] != 0
        cell = cell[there]
        rows = [
            np.maximum(column[there], 0) if column.dtype.kind == "f" else column[there] for column in rows
        ]
    arguments: list[Any] = [divisor, a.visits + b.visits, a.machines | b.machines, a.x + b.x, *squares]
    arguments += [counts(cell, len(divisor)), *rows]
    return Sums(*arguments)


def into(sums: Sums, cell: Int64, cells: int) -> Sums:
    """Merge cells of disjoint visits into fewer cells: cell i goes into `cell[i]`."""
    divisor = np.zeros(cells, np.int64)
    np.gcd.at(divisor, cell, sums.divisor)
    scaled = sums.in_multiples_of(divisor[cell])
    order, first = by_pair(cell[scaled.cell], scaled.function)
    lead = order[first]
    rows = list(scaled.row_columns())
    if len(order):
        rows = [
            rows[_FUNCTION_ROW][lead]
            if i == _FUNCTION_ROW
            else (np.bitwise_or if i == _MACHINES_ROW else np.add).reduceat(column[order], first)
            for i, column in enumerate(rows)
        ]
    arguments: list[Any] = [divisor]
    for i, column in enumerate(list(scaled.cell_columns())[1:-1]):
        total = np.zeros(cells, column.dtype)
        (np.bitwise_or if i == _MACHINES_CELL else np.add).at(total, cell, column)
        arguments.append(total)
    arguments += [counts(cell[scaled.cell[lead]], cells), *rows]
    return Sums(*arguments)


def _union(cell_a: Int64, function_a: Int64, cell_b: Int64, function_b: Int64) -> tuple[Int64, Int64, Int64]:
    """Merge two ascending lists of distinct (cell, function): the cells, and the positions of each list's rows."""
    if not len(cell_a) or not len(cell_b):
        return np.concatenate((cell_a, cell_b)), np.arange(len(cell_a)), np.arange(len(cell_b))
    bits = int(max(function_a.max(), function_b.max())).bit_length() + 1
    # The last bit identifies the list; sorting keeps each list's own order.
    both = np.concatenate(((cell_a << bits) | (function_a << 1), (cell_b << bits) | (function_b << 1) | 1))
    both.sort()
    pair = both >> 1
    fresh = np.ones(len(pair), np.bool_)
    np.not_equal(pair[1:], pair[:-1], out=fresh[1:])
    place = np.cumsum(fresh) - 1
    second = (both & 1).astype(np.bool_)
    return both[fresh] >> bits, place[~second], place[second]


_FUNCTION_ROW, _MACHINES_ROW = 0, 2
_MACHINES_CELL = 1
"""The index of `machines` after the divisor."""


def machine_bit(machine_id: Int64) -> Int64:
    """The bit of a machine: a hash of its id (SplitMix64), because machines of a rack have adjacent ids."""
    z = (machine_id.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    slot = (z ^ (z >> np.uint64(31))) % np.uint64(SLOTS)
    return np.left_shift(np.int64(1), slot.astype(np.int64))


def machines(bits: Int64) -> Float:
    """Estimated number of machines with these bits, rounded, at most 170; NaN if too few bits are unset."""
    unset = SLOTS - np.bitwise_count(bits).astype(np.float64)
    estimate = np.rint(SLOTS * np.log(SLOTS / np.maximum(unset, 1)))
    return np.where(unset >= _LEAST_UNSET, estimate, np.nan)
