"""Cells as lists of their visits with amounts by function, from which all sums follow.

Most functions of a cell occur in one to three of its visits. A pair (function, visit) takes one or two bytes. The ten
sums over visits (`moments.Sums`) take ten, and more as they grow. But reading a cell reads all its pairs. So a cell
lists its visits while its functions have few of them (`listed`), and stores sums afterwards, even where these take
more. A visit to be subtracted is found in the list by its amounts.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.arrays import Bool, Int64, among, by_pair, counts, group_starts, runs, slices, weight_at
from storage.rollup.moments import Sums

MOST_VISITS = 255
"""Maximum number of visits of a listed cell: visit numbers are one byte each."""
_PAIRS_A_ROW = 5
"""Pairs per function above which sums are stored. The limit balances bytes, where nine pairs may still take less,
against time to read."""
_CELL, _VISIT = 1, 6
"""Fields of `VisitLists` that count from 0."""


@dataclass(frozen=True, slots=True)
class VisitLists:
    """Columns over cells, over their visits, and over pairs of a function and a visit."""

    divisor: Int64
    """Units that 1 stands for below, per cell."""
    cell: Int64
    """The cell of each visit; ascending."""
    sign: Int64
    """+1, or -1 for a visit to be subtracted."""
    machine_bit: Int64
    """As in `moments.Sums`; 0 for a visit to be subtracted."""
    x: Int64
    """The visit's amount in the cell."""
    event: Int64
    """The visit's amount in the whole event."""
    visit: Int64
    """The visit of each pair, counted over all cells; pairs ascend by cell, function, visit."""
    function: Int64
    own: Int64
    total: Int64

    def __len__(self) -> int:
        return len(self.divisor)

    @property
    def visits(self) -> Int64:
        """Visits of each cell."""
        return counts(self.cell, len(self))

    @property
    def pairs(self) -> Int64:
        """Pairs of each cell."""
        return np.diff(self._bounds())

    def of(self, cells: Int64) -> "VisitLists":
        """The given cells, in the given order."""
        if len(cells) == len(self) and (cells == np.arange(len(cells))).all():
            return self
        visits, bounds = self.visits, self._bounds()
        pairs = np.diff(bounds)[cells]
        first_visit = np.cumsum(visits) - visits
        at = runs(first_visit[cells], visits[cells])
        # Each cell's visits move together.
        moved = (np.cumsum(visits[cells]) - visits[cells]) - first_visit[cells]
        columns = (self.visit, self.function, self.own, self.total)
        visit, function, own, total = slices(columns, bounds[cells], pairs)
        visit += np.repeat(moved, pairs)
        return VisitLists(
            self.divisor[cells], np.repeat(np.arange(len(cells)), visits[cells]), self.sign[at],
            self.machine_bit[at], self.x[at], self.event[at], visit, function, own, total,
        )  # fmt: skip

    def spread(self, place: Int64, cells: int) -> "VisitLists":
        """Place the cells among others without visits: cell i becomes `place[i]` of `cells`, ascending."""
        divisor = np.zeros(cells, np.int64)
        divisor[place] = self.divisor
        return replace(self, divisor=divisor, cell=place[self.cell])

    def portions(self, most: int) -> Iterator[tuple[int, int, "VisitLists"]]:
        """Split into consecutive parts, as (low, high, the cells [low, high)).

        A part is one cell, and further cells while these have fewer than `most` pairs.
        """
        bounds = self._bounds()
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
        """Merge into fewer cells: the visits of cell i go into `cell[i]`."""
        if cells == len(self) and (cell == np.arange(cells)).all():
            return self
        divisor = np.zeros(cells, np.int64)
        np.gcd.at(divisor, cell, self.divisor)
        scaled = self.in_multiples_of(divisor[cell])
        order = np.argsort(cell[self.cell], kind="stable")
        return _sorted(replace(_reordered(scaled, order), divisor=divisor, cell=cell[self.cell[order]]))

    def in_multiples_of(self, divisor: Int64) -> "VisitLists":
        """Rescaled to other divisors, each of which divides the cell's."""
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
        """All visits, with only the functions that are `wanted` by id."""
        keep = among(self.function, wanted)
        return replace(
            self,
            visit=self.visit[keep],
            function=self.function[keep],
            own=self.own[keep],
            total=self.total[keep],
        )

    def listed(self) -> Bool:
        """Cells with few enough visits, and few enough per function, to be stored as lists."""
        bounds, visits = self._bounds(), self.visits
        fresh = np.ones(len(self.visit), np.bool_)
        np.not_equal(self.function[1:], self.function[:-1], out=fresh[1:])
        fresh[bounds[:-1][np.diff(bounds) > 0]] = True
        rows = np.diff(np.concatenate(([0], np.cumsum(fresh)))[bounds])
        listed: Bool = (visits <= MOST_VISITS) & (np.diff(bounds) <= _PAIRS_A_ROW * rows)
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
        scalars = [weight_at(self.cell, sign * column, cells) for column in (x, xx, xx * xx, x * self.event)]
        visits = weight_at(self.cell, sign, cells).astype(np.int64)
        rows_of = counts(self.cell[of[first]], cells)
        arguments: list[Any] = [self.divisor, visits, bits, *scalars, rows_of, self.function[first], *summed]
        return Sums(*arguments)

    def _bounds(self) -> Int64:
        """Start of each cell's pairs, and the end of the last cell's.

        It bisects for all cells at once: a cell has thousands of pairs, and looking up the cell of each would take a
        quarter of the time of sorting them.
        """
        first_visit = np.searchsorted(self.cell, np.arange(len(self) + 1))
        low, high = np.zeros_like(first_visit), np.full_like(first_visit, len(self.visit))
        while len(open_ := np.flatnonzero(low < high)):
            middle = (low[open_] + high[open_]) >> 1
            before = self.visit[middle] < first_visit[open_]
            low[open_[before]] = middle[before] + 1
            high[open_[~before]] = middle[~before]
        return low

    def _first(self) -> Int64:
        """Positions of pairs that begin a function of a cell."""
        return group_starts((self.cell[self.visit] << 32) | self.function)


def concatenated(*lists: VisitLists) -> VisitLists:
    """The cells of all lists, one list after the other."""
    joined: list[list[Int64]] = [
        [getattr(each, field.name) for each in lists] for field in fields(VisitLists)
    ]
    cells = visits = 0
    for n, each in enumerate(lists):
        joined[_CELL][n] = each.cell + cells
        joined[_VISIT][n] = each.visit + visits
        cells += len(each)
        visits += len(each.cell)
    return VisitLists(*map(np.concatenate, joined))


def add(*lists: VisitLists) -> tuple[VisitLists, Bool]:
    """Cell by cell the visits of all lists, minus those to be subtracted; and the cells that lack one of these."""
    divisor = np.gcd.reduce([each.divisor for each in lists])
    divisor[divisor == 0] = 1
    every = concatenated(*(each.in_multiples_of(divisor) for each in lists))
    cell = np.concatenate([each.cell for each in lists])
    by_cell = np.argsort(cell, kind="stable")
    together = replace(_reordered(every, by_cell), divisor=divisor, cell=cell[by_cell])
    # Each list's pairs are sorted and the first list's visits precede the others', so a stable sort merges runs.
    order = np.argsort((together.cell.take(together.visit) << 32) | together.function, kind="stable")
    pairs = {name: getattr(together, name).take(order) for name in ("visit", "function", "own", "total")}
    together = replace(together, **pairs)
    if not len(together.sign) or int(together.sign.min()) > 0:
        return together, np.zeros(len(together), np.bool_)
    return _taken_out(together)


def _taken_out(lists: VisitLists) -> tuple[VisitLists, Bool]:
    """Remove the visits to be subtracted, and for each of them one visit with equal amounts."""
    key = _identities(lists)
    order = np.lexsort((lists.sign, key, lists.cell))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (np.diff(key[order]) != 0) | (np.diff(lists.cell[order]) != 0)
    group = np.cumsum(fresh) - 1
    out = counts(group[lists.sign[order] < 0], int(fresh.sum()))
    # Among equal visits those to be subtracted sort first; as many of the others are removed with them.
    place = np.arange(len(order)) - np.flatnonzero(fresh)[group]
    gone = place < 2 * out[group]
    size = counts(group, len(out))
    lacking = np.zeros(len(lists), np.bool_)
    lacking[lists.cell[order[fresh]][size < 2 * out]] = True
    return _reordered(lists, np.sort(order[~gone])), lacking


def _identities(lists: VisitLists) -> Int64:
    """A hash of each visit's amounts, in units; visits with equal amounts have equal hashes."""
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
    """Renumber the visits and keep only those in `order`; pairs keep their order."""
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
