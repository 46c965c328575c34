"""Cells as lists of their visits: what each brought of each function, from which all sums follow.

Most functions of a cell were seen by one to three of its visits. A pair (function, visit) takes two bytes;
the ten sums over visits (`moments.Sums`) take ten, and more the more they are. So a cell keeps its visits
as long as that is smaller (`listed`), and sums afterwards. A visit that is taken out is found again by
what it brought.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.rolling.moments import Sums
from storage.rolling.sorting import Bool, Int64, added_up, among, by_pair, counts, ranges, starts

MOST_VISITS = 255
"""Of a cell that keeps them: their numbers are one byte each."""
_PAIRS_A_ROW = 5
"""Pairs that take as much as one function's sums."""


@dataclass(frozen=True, slots=True)
class VisitLists:
    """Columns over cells, over their visits, and over pairs of a function and a visit."""

    divisor: Int64
    """Of each cell: units that 1 stands for below."""
    cell: Int64
    """Of each visit; ascending."""
    sign: Int64
    """+1, or -1 for one that is to be taken out."""
    machine_bit: Int64
    """As in `moments.Sums`; 0 for one that is to be taken out."""
    x: Int64
    """What the visit has in the cell."""
    event: Int64
    """What it has of the whole event."""
    visit: Int64
    """Of each pair, counted over all cells; pairs ascend by cell, function, visit."""
    function: Int64
    own: Int64
    total: Int64

    def __len__(self) -> int:
        return len(self.divisor)

    @property
    def visits(self) -> Int64:
        """How many each cell has."""
        return counts(self.cell, len(self))

    @property
    def pairs(self) -> Int64:
        """How many each cell has."""
        return counts(self.cell[self.visit], len(self))

    def of(self, cells: Int64) -> "VisitLists":
        """Those of some cells, in this order."""
        if len(cells) == len(self) and (cells == np.arange(len(cells))).all():
            return self
        visits, pairs = self.visits, self.pairs
        first_visit = np.cumsum(visits) - visits
        at = ranges(first_visit[cells], visits[cells])
        rows = ranges((np.cumsum(pairs) - pairs)[cells], pairs[cells])
        # Each cell's visits move together.
        moved = (np.cumsum(visits[cells]) - visits[cells]) - first_visit[cells]
        return VisitLists(
            self.divisor[cells], np.repeat(np.arange(len(cells)), visits[cells]), self.sign[at],
            self.machine_bit[at], self.x[at], self.event[at], self.visit[rows] + np.repeat(moved, pairs[cells]),
            self.function[rows], self.own[rows], self.total[rows],
        )  # fmt: skip

    def portions(self, most: int) -> Iterator[tuple[int, int, "VisitLists"]]:
        """Cells [low, high) and what they are, in order: of one and less than `most` pairs of others behind it."""
        bounds = np.concatenate(([0], np.cumsum(self.pairs)))
        groups = np.flatnonzero(np.diff(bounds[1:] // max(most, 1))) + 1
        cuts = [0, *groups.tolist(), len(self)] if len(self) else []
        for low, high in itertools.pairwise(cuts):
            first, end = (int(n) for n in np.searchsorted(self.cell, (low, high)))
            visits, pairs = slice(first, end), slice(int(bounds[low]), int(bounds[high]))
            yield (
                low,
                high,
                VisitLists(
                    self.divisor[low:high], self.cell[visits] - low, self.sign[visits], self.machine_bit[visits],
                    self.x[visits], self.event[visits], self.visit[pairs] - first, self.function[pairs],
                    self.own[pairs], self.total[pairs],
                ),
            )  # fmt: skip

    def into(self, cell: Int64, cells: int) -> "VisitLists":
        """The visits of fewer cells: those of cell i go into `cell[i]`."""
        if cells == len(self) and (cell == np.arange(cells)).all():
            return self
        divisor = np.zeros(cells, np.int64)
        np.gcd.at(divisor, cell, self.divisor)
        scaled = self.in_multiples_of(divisor[cell])
        order = np.argsort(cell[self.cell], kind="stable")
        return _sorted(replace(_reordered(scaled, order), divisor=divisor, cell=cell[self.cell[order]]))

    def in_multiples_of(self, divisor: Int64) -> "VisitLists":
        """The same in multiples of other divisors, each of which divides the cell's."""
        factor = self.divisor // divisor
        if (factor == 1).all():
            return self
        of_visit = factor[self.cell]
        of_pair = of_visit[self.visit]
        return replace(
            self,
            divisor=divisor,
            x=self.x * of_visit,
            event=self.event * of_visit,
            own=self.own * of_pair,
            total=self.total * of_pair,
        )

    def of_functions(self, wanted: Bool) -> "VisitLists":
        """All visits, with those functions alone that are `wanted` by id."""
        keep = among(self.function, wanted)
        return replace(
            self,
            visit=self.visit[keep],
            function=self.function[keep],
            own=self.own[keep],
            total=self.total[keep],
        )

    def listed(self) -> Bool:
        """Cells that are smaller as lists than as sums."""
        rows = counts(self.cell[self.visit[self._first()]], len(self))
        listed: Bool = (self.visits <= MOST_VISITS) & (self.pairs <= _PAIRS_A_ROW * rows)
        return listed

    def sums(self) -> Sums:
        """The sums over each cell's visits, with their signs."""
        cells, first = len(self), self._first()
        x, sign = self.x.astype(np.float64), self.sign.astype(np.float64)
        bits = np.zeros(cells, np.int64)
        np.bitwise_or.at(bits, self.cell, self.machine_bit)
        of = self.visit
        row_sign = self.sign[of]
        rows: list[npt.NDArray[Any]] = [
            row_sign,
            self.machine_bit[of],
            self.own * row_sign,
            self.total * row_sign,
        ]
        own, total = self.own.astype(np.float64), self.total.astype(np.float64)
        signed_own, signed_total = own * row_sign, total * row_sign
        own2, total2 = signed_own * own, signed_total * total
        rows += [own2, total2, signed_own * x[of], signed_total * x[of], own2 * own**2, total2 * total**2]
        summed = [
            (np.bitwise_or if i == 1 else np.add).reduceat(column, first) if len(first) else column
            for i, column in enumerate(rows)
        ]
        xx = x * x
        scalars = [added_up(self.cell, sign * column, cells) for column in (x, xx, xx * xx, x * self.event)]
        visits = added_up(self.cell, sign, cells).astype(np.int64)
        rows_of = counts(self.cell[of[first]], cells)
        arguments: list[Any] = [self.divisor, visits, bits, *scalars, rows_of, self.function[first], *summed]
        return Sums(*arguments)

    def _first(self) -> Int64:
        """Positions of pairs with which a function of a cell begins."""
        return starts((self.cell[self.visit] << 32) | self.function)


def none(cells: int) -> VisitLists:
    """No visits, for this many cells; any divisor divides their 0."""
    nothing = np.zeros(0, np.int64)
    return VisitLists(np.zeros(cells, np.int64), *(nothing,) * 9)


def concatenated(a: VisitLists, b: VisitLists) -> VisitLists:
    """The cells of both, `a`'s first."""
    columns: list[Int64] = [
        np.concatenate((getattr(a, field.name), getattr(b, field.name))) for field in fields(VisitLists)
    ]
    joined = VisitLists(*columns)
    joined.cell[len(a.cell) :] += len(a)
    joined.visit[len(a.visit) :] += len(a.cell)
    return joined


def add(a: VisitLists, b: VisitLists) -> tuple[VisitLists, Bool]:
    """Cell by cell the visits of both, less those to be taken out; and the cells that lack one of these."""
    divisor = np.gcd(a.divisor, b.divisor)
    divisor[divisor == 0] = 1
    a, b = a.in_multiples_of(divisor), b.in_multiples_of(divisor)
    both = concatenated(a, b)
    cell = np.concatenate((a.cell, b.cell))
    by_cell = np.argsort(cell, kind="stable")
    together = replace(
        _reordered(both, by_cell),
        divisor=divisor,
        cell=cell[by_cell],
    )
    # Each list's pairs are in order already, and `a`'s visits come before `b`'s: two runs to be merged.
    order = np.argsort((together.cell[together.visit] << 32) | together.function, kind="stable")
    pairs = {name: getattr(together, name)[order] for name in ("visit", "function", "own", "total")}
    together = replace(together, **pairs)
    if not len(b.sign) or int(b.sign.min()) > 0:
        return together, np.zeros(len(together), np.bool_)
    return _taken_out(together)


def _taken_out(lists: VisitLists) -> tuple[VisitLists, Bool]:
    """Without the visits to be taken out, and for each of them one that brought the same."""
    key = _identities(lists)
    order = np.lexsort((lists.sign, key, lists.cell))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (np.diff(key[order]) != 0) | (np.diff(lists.cell[order]) != 0)
    group = np.cumsum(fresh) - 1
    out = counts(group[lists.sign[order] < 0], int(fresh.sum()))
    # Of equal visits those to be taken out come first, then as many of the others go with them.
    place = np.arange(len(order)) - np.flatnonzero(fresh)[group]
    gone = place < 2 * out[group]
    size = counts(group, len(out))
    lacking = np.zeros(len(lists), np.bool_)
    lacking[lists.cell[order[fresh]][size < 2 * out]] = True
    return _reordered(lists, np.sort(order[~gone])), lacking


def _identities(lists: VisitLists) -> Int64:
    """A hash of what each visit brought, in units; two that brought the same have the same."""
    of = lists.divisor[lists.cell]
    key = _mixed(lists.x * of, 1) + _mixed(lists.event * of, 2)
    unit = of[lists.visit]
    pair = _mixed(_mixed(lists.function, 3) + _mixed(lists.own * unit, 4), 5) + _mixed(lists.total * unit, 6)
    np.add.at(key, lists.visit, _mixed(pair, 7))
    return key


def _mixed(values: Int64, salt: int) -> Int64:
    """splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    z = values.view(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * salt) % (1 << 64))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.int64)


def _reordered(lists: VisitLists, order: Int64) -> VisitLists:
    """Other numbers for the visits, and only those in `order`; pairs stay in theirs."""
    number = np.full(len(lists.cell), -1, np.int64)
    number[order] = np.arange(len(order))
    visit = number[lists.visit]
    kept = slice(None) if len(order) == len(number) else visit >= 0
    return VisitLists(
        lists.divisor, lists.cell[order], lists.sign[order], lists.machine_bit[order], lists.x[order],
        lists.event[order], visit[kept], lists.function[kept], lists.own[kept], lists.total[kept],
    )  # fmt: skip


def _sorted(lists: VisitLists) -> VisitLists:
    order, _ = by_pair((lists.cell[lists.visit] << 32) | lists.function, lists.visit)
    return replace(
        lists,
        visit=lists.visit[order],
        function=lists.function[order],
        own=lists.own[order],
        total=lists.total[order],
    )
