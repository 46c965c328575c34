"""Choose a query's access path: the cheapest of three ways to the same numbers.

| path | reads | can answer |
|---|---|---|
| `FUNCTION_SUMS` | cells' sums by function or application | rows by function or application; series of whole hours |
| `STACK_CELLS` | cells' sums by stack | all queries by stack |
| `VISITS` | the chunks of every visit | everything |

Cells answer selections of whole hours, or of whole hours and the visits in the partial hours before and after, that are
not filtered by frames. Intervals need sums of squares of exactly the rows of a query, so rows are the functions of
everything, the functions of one application, or the applications. All paths give the same numbers to nine digits, so
only cost decides. If a path turns out to be unable to answer, the next one follows. Source: storage/query/README.md;
DIGEST G15.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import ceil

import numpy as np
from sqlalchemy import Connection

from storage.query.estimation.covered_time import HOUR_S
from storage.query.estimation.strata import Drawn
from storage.query.facts.visit_scan import SampleType
from storage.query.selections import label_names, matchers
from storage.query.selections.selection import Selection
from storage.rollup.cubes import APPLICATION, DAY, EVENT, HOUR, HOURS_A_DAY, Cube, bucket_days
from storage.rollup.time_cover import Cover

SHORTEST_PART_S = 6 * HOUR_S
"""A selection that does not begin and end at an hour uses cells if it is longer than this."""
MOST_VISITS = 20_000
"""Maximum number of visits read one by one beside cells; with more, merging is behind and cells save nothing."""
MOST_LEFT = MOST_VISITS // 2
"""Maximum number of visits left to the chunks. Above `MOST_VISITS` cells are not used for the whole range: a month of a
thousand visits an hour became approximate. The other half is for edges, and for visits that wait to be merged."""


class Access(Enum):
    """A way to a selection's numbers."""

    FUNCTION_SUMS = auto()
    STACK_CELLS = auto()
    VISITS = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of an answer that decide how to read it."""

    labels: tuple[str, ...] = ()
    """Labels that rows are grouped by."""
    frame: str | None = None
    """Frame key or keys that rows are grouped by; None: by labels only."""
    stacks: bool = True
    """Whether it is made from stacks; otherwise from sums by row."""
    step_s: int = 0
    """Seconds per step of a series; 0 if it is not a series."""
    some_functions: bool = False
    """Whether it needs only a few functions."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Visits that are read in the time of one cell, by the data read; with fewer visits per cell, visits are read.

    A cell costs a row, its unpacking and its moments, whatever it contains. A visit costs its chunks: a few for one
    application and some sixty for everything. In an hour with visits to two machines nearly every visit has its own
    cell, and cells save nothing; a day has ten times as many visits and hardly more cells.
    """

    sums: float = 0.0
    """For sums of all functions, which are cached decoded or are those of many days, and for none."""
    some_functions: float = 3.0
    """For a few functions of one application, unpacked from hours or days that few queries share: 130 ms of CPU from
    485 visits against 383 ms from as many cells."""
    some_functions_of_all: float = 0.0
    """For a few functions of everything: 794 ms of CPU from visits against 188 ms."""
    stacks: float = 3.0
    """For stacks of one application."""
    stacks_of_all: float = 1.5
    few_visits: int = 100
    """Up to this many visits are read one by one, unless they are three times `stacks` per cell: it takes no noticeable
    time, and visits have more detail than cells."""


@dataclass(frozen=True, slots=True)
class CellPlan:
    """The cells to read, and which of their data."""

    cube: Cube
    """The cube whose facts and moments are those of the whole selection."""
    k1: tuple[int, ...] | None
    """The application's id; None: all applications."""
    first: int
    """Hours since 1970 UTC: cells are of [first, end)."""
    end: int
    by_application: bool
    """Whether rows are applications, not functions."""
    longest: int | None = None
    """`HOUR` or `DAY`, the longest time of a cell; None: any."""
    stacks: bool = True
    """Whether sums by stack are read, or those by function."""
    some_functions: bool = False
    """Whether only a few of the sums by function are read."""
    costs: Costs = field(default_factory=Costs)

    @property
    def least_visits(self) -> float:
        """Visits per cell from which reading cells is at most as expensive as reading visits."""
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
    """None for `VISITS`."""


@dataclass(frozen=True, slots=True)
class Planner:
    """Chooses access paths."""

    allowed: frozenset[Access] = frozenset(Access)
    """The access paths that may be used; `VISITS` always may."""
    costs: Costs = field(default_factory=Costs)
    cells_horizon: int = 0
    """Hours since 1970 UTC: selections that begin earlier are read by visit, since older data are in segments."""

    def plans(
        self, connection: Connection, selection: Selection, kind: SampleType, shape: Shape
    ) -> tuple[Plan, ...]:
        """The access paths that may answer, cheapest first and `VISITS` last.

        For paths by cells, `cheapest` then leaves some hours to visits.
        """
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
    """The smallest cube that covers a query's keys and filters; None if there is none."""
    start, end = selection.start.timestamp(), selection.end.timestamp()
    first, last = ceil(start / HOUR_S), int(end // HOUR_S)
    whole = start % HOUR_S == 0 and end % HOUR_S == 0
    if first >= last or not (whole or end - start > SHORTEST_PART_S):
        return None
    if selection.filters_stacks or kind.gauge or kind.id is None or shape.step_s % HOUR_S:
        return None
    if (shape.frame, *shape.labels) not in {("function",), (None, matchers.APPLICATION)}:
        return None
    if any(matcher.label != matchers.APPLICATION for matcher in selection.matchers):
        return None
    longest = None
    if shape.step_s:
        longest = HOUR if shape.step_s % (HOURS_A_DAY * HOUR_S) else DAY
    found = CellPlan(EVENT, None, first, last, bool(shape.labels), longest, costs=costs)
    if not selection.matchers:
        return found
    applications = label_names.matching_values(connection, matchers.APPLICATION, selection.matchers)
    if len(applications) != 1:
        return None  # no cell has a visit's units of several applications together
    return replace(found, cube=APPLICATION, k1=tuple(applications))


def cheapest(cover: Cover, drawn: Drawn, plan: CellPlan) -> Cover:
    """Leave to the chunks those runs of hours whose visits are cheaper to read one by one.

    Runs with the fewest visits per cell are first, while at most `MOST_LEFT` visits are left to the chunks, including
    the cover's own rest.
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
    """Whether this cover has enough visits per cell, without those left to the chunks.

    More than `MOST_LEFT` visits always suffice: otherwise only a part of their chunks would be read.
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
    """Ranges [first, end) in order, with adjacent ones joined."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(parts):
        if found and found[-1][1] >= first:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((first, end))
    return found
