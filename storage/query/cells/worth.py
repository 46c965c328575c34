"""Whether cells are cheaper to read than the visits that were merged into them, for each part of a cover.

A cell costs a row, its unpacking and its moments, whoever is in it; a visit costs its chunks, a few for one
application and some sixty for everything. In an hour in which two machines were visited nearly every visit has
a cell of its own, and cells save nothing; a day has ten times as many visits and hardly more cells.

Sums of all functions are kept decoded, or are buckets of many days, and heads of cells are a few numbers: these are always
cheaper, and taken wherever there are more than a few visits. A few functions step by step are unpacked of hours or days that few
questions share. Of one application its visits' chunks cost less then, unless several visits share a cell: measured
with 5 functions, 130 CPU ms of 485 visits against 383 of as many cells of hours. Of the whole fleet a visit is sixty chunks: 794
against 188.
"""

from dataclasses import replace
from enum import Enum, auto

import numpy as np

from storage.query.cells.planner import Plan
from storage.query.cells.unmerged import MOST_VISITS
from storage.query.weighing.strata import Drawn
from storage.rolling.cover import Cover
from storage.rolling.cubes import EVENT, HOURS_A_DAY, bucket_days


class Takes(Enum):
    """What a question takes of each cell."""

    SUMS = auto()
    """What is true of the cell as a whole, or of all its functions."""
    SOME_FUNCTIONS = auto()
    """What it has of a few functions."""
    STACKS = auto()


VISITS_A_CELL = 3.0
"""Fewer visits of one application are read as fast from their own chunks, and these know more. Where all that
visits brought is asked for it is half as many."""

FEW_VISITS = 100
"""So few are read one by one unless there are three times as many a cell: nobody waits for it, and they know more."""

MOST_LEFT = MOST_VISITS // 2
"""Visits left to the chunks at most. Above `MOST_VISITS` cells are given up for the whole range: a month of a
thousand visits an hour became approximate. The other half is for edges, and for what waits to be merged."""


def cheapest(cover: Cover, drawn: Drawn, plan: Plan, *, takes: Takes = Takes.STACKS) -> Cover:
    """The cover with those runs of hours left to the chunks whose visits are cheaper to read one by one.

    Those with the fewest visits a cell first, as long as no more than `MOST_LEFT` visits are left to the chunks,
    the cover's own rest included.
    """
    hours = np.array(cover.hours, np.int64)
    runs = [run for run in np.split(hours, np.flatnonzero(np.diff(hours) != 1) + 1) if len(run)]
    left = sum(int(drawn.within(np.arange(first, end)).visits.sum()) for first, end in cover.rest)
    cheaper: list[tuple[float, int, int]] = []
    for index, run in enumerate(runs):
        here = drawn.within(run)
        visits = int(here.visits.sum())
        if visits < _least(plan, takes=takes) * len(here.visits):
            cheaper.append((visits / len(here.visits), visits, index))
    moved = set()
    for _, visits, index in sorted(cheaper):
        if left + visits <= MOST_LEFT:
            left += visits
            moved.add(index)
    kept = [hour for index, run in enumerate(runs) if index not in moved for hour in run.tolist()]
    rest = [*cover.rest, *((int(runs[index][0]), int(runs[index][-1]) + 1) for index in moved)]
    return replace(cover, hours=tuple(kept), rest=tuple(_joined(rest)))


def worth(cover: Cover, drawn: Drawn, plan: Plan, *, takes: Takes = Takes.STACKS) -> bool:
    """Whether there are enough visits for the cells of this cover, those left to the chunks apart.

    More than `MOST_LEFT` are enough however many cells they have: of their chunks only a part would be read.
    """
    hours = drawn.within(np.array(cover.hours, np.int64))
    days = np.array(cover.days, np.int64)
    of_days = drawn.hour // HOURS_A_DAY
    in_days = np.isin(of_days, days)
    cells = len(hours.visits) + len(np.unique(of_days[in_days] << 32 | drawn.cell[in_days]))
    visits = int(hours.visits.sum()) + int(drawn.visits[in_days].sum())
    for level, bucket in cover.weighted:
        size = bucket_days(level)
        inside = (of_days >= bucket * size) & (of_days < (bucket + 1) * size)
        visits += int(drawn.visits[inside].sum())
        cells += 1
    few = visits <= FEW_VISITS and visits < 3 * VISITS_A_CELL * cells
    return visits > MOST_LEFT or (visits >= _least(plan, takes=takes) * cells and not few)


def _least(plan: Plan, *, takes: Takes) -> float:
    if takes is Takes.SUMS or (takes is Takes.SOME_FUNCTIONS and plan.cube is EVENT):
        return 0.0
    return VISITS_A_CELL / 2 if plan.cube is EVENT else VISITS_A_CELL


def _joined(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges [first, end) in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(parts):
        if found and found[-1][1] >= first:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found
