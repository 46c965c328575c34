"""Compute what a batch of facts adds to cells: pure sums, exact in 64-bit integers."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.arrays import Int64, by_pair, counts, runs
from storage.rollup.batch import Batch, numbered
from storage.rollup.cubes import CUBES, DAY, HOUR, HOURS_A_DAY, Cube
from storage.rollup.stack_functions import StackFunctions
from storage.rollup.visit_lists import VisitLists
from storage.rollup.visit_sums import Members, Pairs, lists, members, pairs_of_facts

KEY = (
    "cube", "campaign_id", "stacks", "sample_type_id", "stratum_id", "utilisation_class", "level", "bucket",
    "k1", "k2",
)  # fmt: skip
"""The primary key of `rollup`, in its order; it identifies a cell in the tables below."""


@dataclass(frozen=True, slots=True)
class Facts:
    """(stack, units) pairs by cell, stacks ascending in each cell; units may be negative."""

    count: Int64
    stack: Int64
    units: Int64

    @property
    def cell(self) -> Int64:
        """The cell of each pair."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def into(self, cell: Int64, cells: int) -> "Facts":
        """Merge into fewer cells: cell i goes into `cell[i]`."""
        if cells == len(self.count) and (cell == np.arange(cells)).all():
            return self
        return sum_facts(np.repeat(cell, self.count), self.stack, self.units, cells)

    def between(self, low: int, high: int) -> "Facts":
        """The facts of cells [low, high)."""
        first = int(self.count[:low].sum())
        pairs = slice(first, first + int(self.count[low:high].sum()))
        return Facts(self.count[low:high], self.stack[pairs], self.units[pairs])

    def of(self, cells: Int64) -> "Facts":
        """The facts of the given cells, in the given order."""
        rows = runs((np.cumsum(self.count) - self.count)[cells], self.count[cells])
        return Facts(self.count[cells], self.stack[rows], self.units[rows])


def sum_facts(cell: Int64, stack: Int64, units: Int64, cells: int) -> Facts:
    """Σ units by (cell, stack), without pairs that sum to 0."""
    order, first = by_pair(cell, stack)
    if not len(order):
        return Facts(np.zeros(cells, np.int64), stack, units)
    total = np.add.reduceat(units.take(order), first)
    kept = np.flatnonzero(total)
    lead = order.take(first.take(kept))
    return Facts(counts(cell.take(lead), cells), stack.take(lead), total.take(kept))


@dataclass(frozen=True, slots=True)
class Gains:
    """What is added to some cells: columns over cells."""

    key: Int64
    """Shape (cells, len(KEY)), ascending."""
    profiles: Int64
    visits: Int64
    samples: Int64
    total: Int64
    facts: Facts
    moments: VisitLists

    def __len__(self) -> int:
        return len(self.key)

    def of(self, cells: Int64) -> "Gains":
        """The gains of the given cells, in the given order."""
        counted = (self.profiles[cells], self.visits[cells], self.samples[cells], self.total[cells])
        return Gains(self.key[cells], *counted, self.facts.of(cells), self.moments.of(cells))


def gains(
    batch: Batch,
    stack_functions: StackFunctions,
    with_daily_rollup: Collection[int] = (),
    without_hours: Collection[int] = (),
) -> list[Gains]:
    """What a batch adds to the cells of every cube, for its hours and for the days in `with_daily_rollup`.

    Hour cells of the days in `without_hours` get nothing. Each result ascends by key. The functions of all stacks in
    the batch must be loaded.
    """
    if not len(batch.profiles):
        return []
    p, v = batch.profiles, batch.visits
    sign = v.sign[p.visit]
    base = (
        v.campaign[p.visit], p.stacks, p.sample_type, v.stratum[p.visit], v.utilisation_class[p.visit], v.hour[p.visit],
    )  # fmt: skip
    # The finest cells; all other cells are merged from them.
    fine, of = numbered(*base, p.application)
    facts = sum_facts(np.repeat(of, p.facts), batch.stack, batch.units * np.repeat(sign, p.facts), len(fine))
    columns = [column[fine] for column in base]
    application = p.application[fine]
    late = np.isin(v.hour // HOURS_A_DAY, list(with_daily_rollup)).any()
    result = []
    pairs: tuple[Members, Pairs] | None = None
    for cube in reversed(CUBES):  # from the finest: coarser cubes are merged from its pairs
        hours: tuple[Int64, VisitLists] | None = None
        for level in (HOUR, DAY) if late else (HOUR,):
            key = _keys(cube, level, columns, application)
            lead, into = numbered(*key.T)
            cell = into[of]
            if hours is None:
                pairs = _finer(batch, cell, len(lead), pairs, stack_functions)
                moments = lists(*pairs)
                hours = into, moments
            else:
                moments = hours[1].into(_onto(hours[0], into), len(lead))
            gained = Gains(
                key=key[lead],
                profiles=_sums(cell, sign, len(lead)),
                visits=_visits(cell, p.visit, v.sign, len(lead)),
                samples=_sums(cell, p.samples * sign, len(lead)),
                total=_sums(cell, p.samples * p.period * sign, len(lead)),
                facts=facts.into(into, len(lead)),
                moments=moments,
            )
            bucket = gained.key[:, KEY.index("bucket")]
            if level == DAY:
                gained = gained.of(np.flatnonzero(np.isin(bucket, list(with_daily_rollup))))
            elif without_hours:
                kept = ~np.isin(bucket // HOURS_A_DAY, list(without_hours))
                gained = gained.of(np.flatnonzero(kept))
            if len(gained):
                result.append(gained)
    return result


def _finer(
    batch: Batch,
    cell: Int64,
    cells: int,
    finer: tuple[Members, Pairs] | None,
    stack_functions: StackFunctions,
) -> tuple[Members, Pairs]:
    """(visit, function) pairs of the cells, merged from the pairs of finer cells if these are given."""
    of = members(batch, cell, cells)
    if finer is None:
        return of, pairs_of_facts(batch, of, stack_functions)
    before, pairs = finer
    return of, pairs.of(_onto(before.of_profile, of.of_profile))


def _onto(fine: Int64, coarse: Int64) -> Int64:
    """Map each number in `fine` to the number at the same index in `coarse`; equal `fine` have equal `coarse`."""
    onto = np.zeros(int(fine.max()) + 1, np.int64)
    onto[fine] = coarse
    return onto


def _keys(cube: Cube, level: int, columns: list[npt.NDArray[np.int64]], application: Int64) -> Int64:
    n = len(application)
    hour = columns[-1]
    labels = {"application": application}
    own = [labels[name] for name in cube.keys]
    own += [np.zeros(n, np.int64)] * (2 - len(own))
    bucket = hour if level == HOUR else hour // HOURS_A_DAY
    return np.stack((np.full(n, cube.id), *columns[:-1], np.full(n, level), bucket, *own), axis=1)


def _sums(cell: Int64, values: Int64, cells: int) -> Int64:
    sums = np.zeros(cells, np.int64)
    np.add.at(sums, cell, values)
    return sums


def _visits(cell: Int64, visit: Int64, sign: Int64, cells: int) -> Int64:
    """Visits added to each cell, minus visits subtracted."""
    order, first = by_pair(cell, visit)
    lead = order[first]
    return _sums(cell[lead], sign[visit[lead]], cells)
