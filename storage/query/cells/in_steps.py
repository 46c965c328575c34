"""The moments of rows step by step, out of cells none of which is of more than one step.

Cells weigh as in the whole selection, by stratum, UTC day and class; a step has those of its cells and loose visits, and all
visits of its days that are not among them brought nothing to it. So visits one by one are narrowed to a step as well.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from analysis.moments import Moments
from analysis.weights import Weights
from storage.query import budget
from storage.query.arrays import Int64
from storage.query.cells.moments import ClosedCells, LooseVisits, OpenCells, Pairs, Sources
from storage.query.weighing.by_visit import ByVisit
from storage.rolling import weighted
from storage.rolling.weighted import Parts

_NONE = np.zeros(0, np.int64)
_NO_PAIRS = Pairs(_NONE, _NONE, *(np.zeros(0),) * 5)


@dataclass(frozen=True, slots=True)
class SteppedCells:
    """Cells, and the step that each is of."""

    cells: OpenCells
    step: Int64


@dataclass(frozen=True, slots=True)
class SteppedVisits:
    """Visits that are in no cell, and the step that each is of."""

    visits: LooseVisits
    step: Int64


@dataclass(frozen=True, slots=True)
class InSteps:
    """What rows have in cells and loose visits."""

    weights: Weights
    whole: SteppedCells
    rows: SteppedCells
    """Those that rows are made of: the same object, unless rows are applications among others."""
    pairs: Pairs
    """Of rows with these."""
    loose: SteppedVisits
    brought: ByVisit
    """By the loose visits to rows."""

    def moments(self, count: int) -> Iterator[tuple[Moments, Moments]]:
        """Those of the whole, as one row, and those of the rows, in each of so many steps."""
        one = self.rows is self.whole
        places = zip(
            _by_step(self.whole.step, count),
            _by_step(self.rows.step, count),
            _by_step(self.rows.step[self.pairs.cell], count),
            _by_step(self.loose.step, count),
            _by_step(self.loose.step[self.brought.visit], count),
            strict=True,
        )
        new, new_visit = np.zeros(len(self.rows.step), np.int64), np.zeros(len(self.loose.step), np.int64)
        for whole_at, rows_at, pairs_at, visits_at, brought_at in places:
            budget.checkpoint()
            whole = _of(self.whole.cells, whole_at)
            rows = whole if one else _of(self.rows.cells, rows_at)
            visits = _visits(self.loose.visits, visits_at)
            sources = Sources(self.weights, rows, whole, _NO_CLOSED, visits)
            new[rows_at], new_visit[visits_at] = np.arange(len(rows_at)), np.arange(len(visits_at))
            brought = ByVisit(
                self.brought.row[brought_at],
                new_visit[self.brought.visit[brought_at]],
                self.brought.units[brought_at],
                self.brought.rows,
            )
            pairs = _pairs(self.pairs, pairs_at, new)
            yield (
                _moments_of_whole(sources, whole, visits),
                sources.moments(pairs, brought, _NO_PAIRS, self.brought.rows),
            )


def _moments_of_whole(sources: Sources, whole: OpenCells, visits: LooseVisits) -> Moments:
    sums, seen = whole.sums, np.flatnonzero(visits.selected)
    first = np.zeros(max(len(sums), len(seen)), np.int64)
    pairs = Pairs(
        np.arange(len(sums)),
        first[: len(sums)],
        sums.x,
        sums.xx,
        sums.xx,
        sums.xxxx,
        sums.visits.astype(np.float64),
    )
    brought = ByVisit(first[: len(seen)], seen, visits.selected[seen], 1)
    return sources.moments(pairs, brought, _NO_PAIRS, 1, of_whole=True)


def _nothing_closed(_: object) -> Parts:
    return weighted.NO_PARTS


_NO_CLOSED = ClosedCells(weighted.NO_PARTS, _nothing_closed, _NONE, _NONE)


def _of(cells: OpenCells, places: Int64) -> OpenCells:
    """Some of the cells, without functions."""
    sums = cells.sums.of(places)
    return OpenCells(
        sums, sums.of_functions, cells.weight[places], cells.group[places], cells.application[places]
    )


def _visits(visits: LooseVisits, places: Int64) -> LooseVisits:
    """Some of the visits, without their profiles."""
    return LooseVisits(
        visits.sign[places],
        visits.weight[places],
        visits.group[places],
        visits.machine[places],
        _NONE,
        visits.selected[places],
    )


def _pairs(pairs: Pairs, places: Int64, cell: Int64) -> Pairs:
    """Some of the pairs, with other numbers of their cells."""
    return replace(
        pairs,
        cell=cell[pairs.cell[places]],
        row=pairs.row[places],
        y=pairs.y[places],
        yy=pairs.yy[places],
        xy=pairs.xy[places],
        yyyy=pairs.yyyy[places],
        visits=pairs.visits[places],
    )


def _by_step(step: Int64, count: int) -> list[Int64]:
    """The places of each step, ascending."""
    order = np.argsort(step, kind="stable")
    bounds = np.searchsorted(step[order], np.arange(count + 1)).tolist()
    return [order[low:high] for low, high in itertools.pairwise(bounds)]
