"""Whether cells are cheaper to read than the visits that were merged into them, for each part of a cover.

A cell costs a row, its unpacking and its moments, whoever is in it; a visit costs its chunks, a few for one
application and some sixty for everything. In an hour in which two machines were visited nearly every visit has
a cell of its own, and cells save nothing; a day has ten times as many visits and hardly more cells.
"""

from dataclasses import replace

import numpy as np

from storage.query.cells.planner import Plan
from storage.query.weighing.strata import Drawn
from storage.rolling.cover import Cover
from storage.rolling.cubes import EVENT, HOURS_A_DAY, bucket_days

VISITS_A_CELL = 3.0
"""Fewer visits of one application are read as fast from their own chunks, and these know more. Where all that
visits brought is asked for it is half as many."""

FEW_VISITS = 100
"""So few are read one by one unless there are three times as many a cell: nobody waits for it, and they know more."""


def cheapest(cover: Cover, drawn: Drawn, plan: Plan) -> Cover:
    """The cover with those runs of hours left to the chunks whose visits are cheaper to read one by one."""
    hours = np.array(cover.hours, np.int64)
    kept: list[int] = []
    rest = list(cover.rest)
    for run in np.split(hours, np.flatnonzero(np.diff(hours) != 1) + 1):
        here = drawn.within(run)
        if len(run) and int(here.visits.sum()) < _least(plan) * len(here.visits):
            rest.append((int(run[0]), int(run[-1]) + 1))
        else:
            kept += run.tolist()
    return replace(cover, hours=tuple(kept), rest=tuple(_joined(rest)))


def worth(cover: Cover, drawn: Drawn, plan: Plan) -> bool:
    """Whether there are enough visits for the cells of this cover, those left to the chunks apart."""
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
    return visits >= _least(plan) * cells and not few


def _least(plan: Plan) -> float:
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
