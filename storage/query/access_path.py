"""The access path of a question: which of three ways to the same numbers is the cheapest.

| path | reads | can tell |
|---|---|---|
| `FUNCTION_SUMS` | what merged cells keep of each function or application | rows that are functions or applications, and their series of whole hours |
| `STACK_CELLS` | what merged cells keep of each stack | whatever is made of stacks |
| `VISITS` | the chunks of every visit | everything |

Cells answer selections of whole hours, alone or with the visits of a part of an hour before and after them, that ask for whole
stacks. Intervals need sums of squares of exactly what is asked, so rows are the functions of everything, the functions of one
application, or the applications. Each path says the same to nine digits, so what it costs decides alone; a path that turns out not to
be able to tell is followed by the next one. Source: storage/query/README.md; DIGEST G15.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import ceil

import numpy as np
from sqlalchemy import Connection

from storage.query.estimation.covered_time import HOUR_S
from storage.query.estimation.strata import Drawn
from storage.query.facts.visit_scan import SampleType
from storage.query.selections import label_names
from storage.query.selections.selection import Selection
from storage.rollup.cubes import APPLICATION, DAY, EVENT, HOUR, HOURS_A_DAY, Cube, bucket_days
from storage.rollup.time_cover import Cover

SHORTEST_PART_S = 6 * HOUR_S
"""A selection that does not begin and end with an hour uses cells if it is longer."""
MOST_VISITS = 20_000
"""More visits beside the cells are not read one by one: the roller is behind, and cells save nothing."""
MOST_LEFT = MOST_VISITS // 2
"""Visits left to the chunks at most. Above `MOST_VISITS` cells are given up for the whole range: a month of a
thousand visits an hour became approximate. The other half is for edges, and for what waits to be merged."""
_APPLICATION = "application"


class Access(Enum):
    """A way to a selection's numbers."""

    FUNCTION_SUMS = auto()
    STACK_CELLS = auto()
    VISITS = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer is made of, as far as it says how to read it."""

    labels: tuple[str, ...] = ()
    """Rows go by these labels."""
    frame: str | None = None
    """Rows go by this frame key, or by several; None: by labels alone."""
    stacks: bool = True
    """It is made of stacks; else of what rows have."""
    step_s: int = 0
    """Seconds of a step of a series; 0: it is no series."""
    some_functions: bool = False
    """It needs a few functions alone."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Visits that are read in the time of one cell, by what is taken of it: with fewer a cell, visits are read.

    A cell costs a row, its unpacking and its moments, whatever is in it; a visit costs its chunks, a few for one application and some
    sixty for everything. In an hour in which two machines were visited nearly every visit has a cell of its own, and cells save
    nothing; a day has ten times as many visits and hardly more cells.
    """

    sums: float = 0.0
    """Of all functions, which are cached decoded or are those of many days, and of none."""
    some_functions: float = 3.0
    """Of a few functions of one application, unpacked of hours or days that few questions share: 130 CPU ms of 485 visits against
    383 of as many cells."""
    some_functions_of_all: float = 0.0
    """Of a few functions of everything: 794 CPU ms of visits against 188."""
    stacks: float = 3.0
    """Of one application."""
    stacks_of_all: float = 1.5
    few_visits: int = 100
    """So few are read one by one unless there are three times as many a cell as `stacks`: it takes no noticeable time, and visits know more than cells."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """Which cells to read, and what of them."""

    cube: Cube
    """Whose facts and moments are those of the whole selection."""
    k1: tuple[int, ...] | None
    """The application's id; None: all there is."""
    first: int
    """Hours since 1970 UTC: cells are of [first, end)."""
    end: int
    by_application: bool
    """Rows are applications, not functions."""
    longest: int | None = None
    """`HOUR` or `DAY`: no cell is of more time; None: of any."""
    stacks: bool = True
    """Sums by stack are read, else those by function."""
    some_functions: bool = False
    """Of the sums by function a few are read."""
    costs: Costs = field(default_factory=Costs)

    @property
    def least_visits(self) -> float:
        """Visits a cell has where cells are no dearer."""
        costs, of_all = self.costs, self.cube is EVENT
        if self.stacks:
            return costs.stacks_of_all if of_all else costs.stacks
        if self.some_functions:
            return costs.some_functions_of_all if of_all else costs.some_functions
        return costs.sums


@dataclass(frozen=True, slots=True)
class Plan:
    """An access path."""

    access: Access
    cells: CellPlan | None
    """None: `VISITS`."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Chooses access paths."""

    allowed: frozenset[Access] = frozenset(Access)
    """Those that may be taken; `VISITS` may always."""
    costs: Costs = field(default_factory=Costs)
    cells_horizon: int = 0
    """Hours since 1970 UTC: selections that begin earlier are read by visit, for segments have what was before."""

    def plans(
        self, connection: Connection, selection: Selection, kind: SampleType, shape: Shape
    ) -> tuple[Plan, ...]:
        """The access paths that may answer, the cheapest first and `VISITS` last; which hours are left to visits `cheapest` says."""
        visits = Plan(Access.VISITS, None)
        cells = None
        if selection.start.timestamp() >= self.cells_horizon * HOUR_S:
            cells = _cells(connection, selection, kind, shape, self.costs)
        if cells is None:
            return (visits,)
        by_stack = Plan(Access.STACK_CELLS, cells)
        sums = Plan(Access.FUNCTION_SUMS, replace(cells, stacks=False, some_functions=shape.some_functions))
        found = () if shape.stacks else (sums,)
        if not shape.step_s:
            found = (*found, by_stack)
        return (*(plan for plan in found if plan.access in self.allowed), visits)

    def plan(self, connection: Connection, selection: Selection, kind: SampleType, shape: Shape) -> Plan:
        """The first of `plans`."""
        return self.plans(connection, selection, kind, shape)[0]


def _cells(
    connection: Connection, selection: Selection, kind: SampleType, shape: Shape, costs: Costs
) -> CellPlan | None:
    """The smallest cube that covers a question's keys and filters; None: there is none."""
    start, end = selection.start.timestamp(), selection.end.timestamp()
    first, last = ceil(start / HOUR_S), int(end // HOUR_S)
    whole = start % HOUR_S == 0 and end % HOUR_S == 0
    if first >= last or not (whole or end - start > SHORTEST_PART_S):
        return None
    if selection.filters_stacks or kind.gauge or kind.id is None or shape.step_s % HOUR_S:
        return None
    if (shape.frame, *shape.labels) not in {("function",), (None, _APPLICATION)}:
        return None
    if any(matcher.label != _APPLICATION for matcher in selection.matchers):
        return None
    longest = None
    if shape.step_s:
        longest = HOUR if shape.step_s % (HOURS_A_DAY * HOUR_S) else DAY
    found = CellPlan(EVENT, None, first, last, bool(shape.labels), longest, costs=costs)
    if not selection.matchers:
        return found
    applications = label_names.matching_values(connection, _APPLICATION, selection.matchers)
    if len(applications) != 1:
        return None  # a visit's units of several applications together are in no cell
    return replace(found, cube=APPLICATION, k1=tuple(applications))


def cheapest(cover: Cover, drawn: Drawn, plan: CellPlan) -> Cover:
    """The cover with those runs of hours left to the chunks whose visits are cheaper to read one by one.

    Those with the fewest visits a cell first, as long as no more than `MOST_LEFT` visits are left to the chunks,
    the cover's own rest included.
    """
    least, hours = plan.least_visits, np.array(cover.hours, np.int64)
    runs = [run for run in np.split(hours, np.flatnonzero(np.diff(hours) != 1) + 1) if len(run)]
    left = sum(int(drawn.within(np.arange(first, end)).visits.sum()) for first, end in cover.rest)
    cheaper: list[tuple[float, int, int]] = []
    for index, run in enumerate(runs):
        here = drawn.within(run)
        visits = int(here.visits.sum())
        if visits < least * len(here.visits):
            cheaper.append((visits / len(here.visits), visits, index))
    moved = set()
    for _, visits, index in sorted(cheaper):
        if left + visits <= MOST_LEFT:
            left += visits
            moved.add(index)
    kept = [hour for index, run in enumerate(runs) if index not in moved for hour in run.tolist()]
    rest = [*cover.rest, *((int(runs[index][0]), int(runs[index][-1]) + 1) for index in moved)]
    return replace(cover, hours=tuple(kept), rest=tuple(_joined(rest)))


def prefer_rollup(cover: Cover, drawn: Drawn, plan: CellPlan) -> bool:
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
    few = visits <= plan.costs.few_visits and visits < 3 * plan.costs.stacks * cells
    return visits > MOST_LEFT or (visits >= plan.least_visits * cells and not few)


def _joined(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges [first, end) in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(parts):
        if found and found[-1][1] >= first:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found
