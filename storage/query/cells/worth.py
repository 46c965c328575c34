"""Whether cells are cheaper to read than the visits that were merged into them, for each part of a cover.

A cell costs a row, its unpacking and its moments, whoever is in it; a visit costs its chunks, a few for one
application and some sixty for everything. In an hour in which two machines were visited nearly every visit has
a cell of its own, and cells save nothing; a day has ten times as many visits and hardly more cells.

Cells whose stacks are left unread are always cheaper, and taken wherever there are more than a few visits.
"""

from dataclasses import replace

import numpy as np

from storage.query.cells.planner import Plan
from storage.query.cells.unmerged import MOST_VISITS
from storage.query.weighing.strata import Drawn
from storage.rolling.cover import Cover
from storage.rolling.cubes import EVENT, HOURS_A_DAY, bucket_days

VISITS_A_CELL = 3.0
"""Fewer visits of one application are read as fast from their own chunks, and these know more. Where all that
visits brought is asked for it is half as many."""

FEW_VISITS = 100
"""So few are read one by one unless there are three times as many a cell: nobody waits for it, and they know more."""

MOST_LEFT = MOST_VISITS // 2
"""Visits left to the chunks at most. Above `MOST_VISITS` cells are given up for the whole range: a month of a
thousand visits an hour became approximate. The other half is for edges, and for what waits to be merged."""


def cheapest(cover: Cover, drawn: Drawn, plan: Plan, *, stacks: bool = True) -> Cover:
    """The cover with those runs of hours left to the chunks whose visits are cheaper to read one by one.

    Those with the fewest visits a cell first, as long as no more than `MOST_LEFT` visits are left to the chunks,
    the cover's own rest included. Without `stacks` cells' sums by function are read.
    """
    hours = np.array(cover.hours, np.int64)
    runs = [run for run in np.split(hours, np.flatnonzero(np.diff(hours) != 1) + 1) if len(run)]
    left = sum(int(drawn.within(np.arange(first, end)).visits.sum()) for first, end in cover.rest)
    cheaper: list[tuple[float, int, int]] = []
    for index, run in enumerate(runs):
        here = drawn.within(run)
        visits = int(here.visits.sum())
        if visits < _least(plan, stacks=stacks) * len(here.visits):
            cheaper.append((visits / len(here.visits), visits, index))
    moved = set()
    for _, visits, index in sorted(cheaper):
        if left + visits <= MOST_LEFT:
            left += visits
            moved.add(index)
    kept = [hour for index, run in enumerate(runs) if index not in moved for hour in run.tolist()]
    rest = [*cover.rest, *((int(runs[index][0]), int(runs[index][-1]) + 1) for index in moved)]
    return replace(cover, hours=tuple(kept), rest=tuple(_joined(rest)))


def worth(cover: Cover, drawn: Drawn, plan: Plan, *, stacks: bool = True) -> bool:
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
    return visits > MOST_LEFT or (visits >= _least(plan, stacks=stacks) * cells and not few)


def _least(plan: Plan, *, stacks: bool) -> float:
    if not stacks:
        return 0.0  # what a cell of a single visit says of functions is less than the visit's stacks
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
