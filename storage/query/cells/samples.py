"""The samples of a selection out of merged cells, as exact and fresh as out of the visits' own chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial

import numpy as np
from sqlalchemy import Connection, func, select

from analysis.weights import Weights, weigh
from storage.query.arrays import Float, Int64, distinct, sum_at, weight_at
from storage.query.cells.evidence import CellRows, Merged
from storage.query.cells.moments import ClosedCells, LooseVisits, OpenCells
from storage.query.cells.planner import Plan
from storage.query.cells.unmerged import (
    UnmergedFacts,
    UnmergedVisits,
    merged_hours,
    read_facts,
    read_seconds,
    read_visits,
)
from storage.query.cells.worth import cheapest, worth
from storage.query.facts.scan import SampleType
from storage.query.selections.selection import Selection
from storage.query.weighing.design import design_of
from storage.query.weighing.kept import facts_from, midnight
from storage.query.weighing.strata import HOUR_S, Strata, read_strata
from storage.rolling import reading
from storage.rolling.cover import Cover, cover, read_state
from storage.rolling.cubes import (
    APPLICATION,
    HOURS_A_DAY,
    HOURS_KEPT_DAYS,
    Source,
    day_number,
)
from storage.rolling.moments import empty
from storage.rolling.reading import Cells, Functions, WeightedCells
from storage.rolling.rows import ANSWER_BYTES


@dataclass(frozen=True, slots=True)
class CellSamples:
    """Sums by stack, and what the cells know besides."""

    stack: Int64
    """Ascending, each once."""
    units: Int64
    weighted: Float
    """Units of the fleet."""
    loose: UnmergedFacts
    """Facts of visits that are in no cell; they are among the sums already."""
    stacks: bool
    evidence: Callable[[Int64], Merged]
    """What the cells know besides, given for each function id what readers take instead."""


def read_cell_samples(
    connection: Connection, selection: Selection, kind: SampleType, campaign_id: int, plan: Plan
) -> CellSamples | None:
    """The selection by cells; None: the campaign draws nobody at random, or too little is merged yet."""
    facts_kept = facts_from(connection)
    asked_s = (selection.end - selection.start).total_seconds()
    today: date = connection.execute(select(func.current_date())).scalar_one()
    # A day less than are kept: who drops them may have another clock.
    hours_from = (day_number(today) - HOURS_KEPT_DAYS + 1) * HOURS_A_DAY
    state = read_state(connection, plan.cube, hours_from=hours_from)
    covered = cover(state, plan.first, plan.end)
    if _lacks_facts(selection, covered, facts_kept):
        left = _whole_days(selection, plan, facts_kept)
        if left is None:
            return None
        selection, plan = left
        covered = cover(state, plan.first, plan.end)
    strata = read_strata(connection, campaign_id, selection.start, selection.end)
    if strata is None or kind.id is None or not merged_hours(plan, covered):
        return None
    strata = replace(strata, asked_s=asked_s)
    if selection.start >= facts_kept:
        covered = cheapest(covered, strata.in_hours, plan)
        if not merged_hours(plan, covered) or not worth(covered, strata.in_hours, plan):
            return None
    visits = read_visits(connection, selection, campaign_id, plan, covered)
    if visits is None:
        return None
    facts = read_facts(connection, visits, kind.id, plan.k1)
    if facts is None:
        return None
    read = _Read.of(connection, Source(plan.cube, campaign_id, True, kind.id), plan, covered, visits)
    if not (read.any_cells or facts.stacks.any()):
        flat = _Read.of(connection, replace(read.source, stacks=False), plan, covered, visits)
        if flat.any_cells or len(facts.stacks) or not read.any_visits:
            read = flat
    cells, closed, exposed, seconds = read.cells, read.closed, read.exposed, read.seconds
    loose = facts.of_depth(stacks=read.source.stacks)
    weights = _weights(strata, exposed, visits, seconds)
    weighing = _Weighing(strata, weights)
    open_, closed_ = weighing.open(cells), _closed(closed)
    weight, group = weighing.of(visits)
    row_cells, row_closed = open_, closed_
    applications = CellRows(*(np.zeros(0, np.int64),) * 2, np.zeros(0))
    if plan.by_application:
        more, more_closed = cells, closed
        if plan.cube is not APPLICATION:
            of_each = replace(read.source, cube=APPLICATION)
            more = reading.read_cells(
                connection, of_each, covered, facts=False, functions=Functions.NONE, limit=ANSWER_BYTES
            )
            more_closed = reading.read_weighted(
                connection, of_each, covered, facts=False, functions=Functions.NONE, limit=ANSWER_BYTES
            )
            row_cells, row_closed = weighing.open(more), _closed(more_closed)
        applications = _applications(more, row_cells, more_closed, _Loose(visits, loose, weight))
    stack, units, weighted = _by_stack(cells, open_, closed, _Loose(visits, loose, weight))
    sign = visits.sign[loose.visit]
    selected = sum_at(loose.visit, loose.samples * loose.period, len(visits))
    evidence = partial(
        Merged,
        design=design_of(strata, weights, landed=int(exposed.visits.sum() + visits.sign[seconds > 0].sum())),
        open=row_cells,
        closed=row_closed,
        whole_open=open_,
        whole_closed=closed_,
        visits=LooseVisits(visits.sign, weight, group, visits.machine, loose.visit, selected),
        rows=applications,
        samples=int(cells.samples.sum() + closed.samples.sum() + (sign * loose.samples).sum()),
        profiles=int(cells.profiles.sum() + closed.profiles.sum() + sign.sum()),
        visits_seen=int(cells.visits.sum() + closed.visits.sum() + visits.sign[selected > 0].sum()),
        fresh=bool(len(loose.visit)),
    )
    return CellSamples(
        stack, units, weighted, loose, read.source.stacks, lambda canonical: evidence(canonical=canonical)
    )


def _lacks_facts(selection: Selection, cover: Cover, facts: datetime) -> bool:
    """Whether a part of the time would be read from chunks that are gone."""
    edges = (selection.start, selection.end)
    return any(edge < facts and edge.timestamp() % HOUR_S for edge in edges) or any(
        low < facts.timestamp() // HOUR_S for low, _ in cover.rest
    )


def _whole_days(selection: Selection, plan: Plan, facts: datetime) -> tuple[Selection, Plan] | None:
    """The selection and its plan without the parts of days before `facts`; None: nothing is left.

    A day that far back is asked for as a whole: it has cells of the day, or, if it was never folded, those of all its hours.
    """
    start, end = selection.start, selection.end
    if start < facts and start != midnight(start):
        start = midnight(start) + timedelta(days=1)
    if end < facts:
        end = midnight(end)
    if start >= end:
        return None
    hours = int(start.timestamp() // HOUR_S), int(end.timestamp() // HOUR_S)
    return (
        replace(selection, start=start, end=end),
        replace(plan, first=max(plan.first, hours[0]), end=min(plan.end, hours[1])),
    )


@dataclass(frozen=True, slots=True)
class _Exposed:
    """Columns over strata, days and classes: what merged visits watched."""

    stratum: Int64
    day: Int64
    utilisation_class: Int64
    visits: Float
    seconds: Float

    @classmethod
    def read(cls, connection: Connection, source: Source, hours: Sequence[tuple[int, int]]) -> "_Exposed":
        """Of the hours that cells are read of."""
        parts = [reading.read_exposure(connection, source, low, high) for low, high in hours]
        columns = zip(
            *((p.stratum, p.day, p.utilisation_class, p.visits, p.seconds) for p in parts), strict=True
        )
        stratum, day, klass, visits, seconds = (np.concatenate(column) for column in columns)
        return cls(stratum, day, klass + 1, visits.astype(np.float64), seconds)


@dataclass(frozen=True, slots=True)
class _Read:
    """The cells of one depth, and how long their visits and the loose ones watched."""

    source: Source
    cells: Cells
    closed: WeightedCells
    exposed: _Exposed
    seconds: Float

    @classmethod
    def of(
        cls, connection: Connection, source: Source, plan: Plan, covered: Cover, visits: UnmergedVisits
    ) -> "_Read":
        functions = Functions.NONE if plan.by_application else Functions.LATER
        return cls(
            source,
            reading.read_cells(
                connection, source, covered, k1=plan.k1, functions=functions, limit=ANSWER_BYTES
            ),
            reading.read_weighted(
                connection, source, covered, k1=plan.k1, functions=functions, limit=ANSWER_BYTES
            ),
            _Exposed.read(connection, source, merged_hours(plan, covered)),
            read_seconds(connection, visits, source.sample_type_id, stacks=source.stacks),
        )

    @property
    def any_cells(self) -> bool:
        return bool(len(self.cells) or len(self.closed))

    @property
    def any_visits(self) -> bool:
        return bool(self.exposed.visits.any() or self.seconds.any())


def _weights(strata: Strata, exposed: _Exposed, visits: UnmergedVisits, seconds: Float) -> Weights:
    """Weights of all strata and days from what merged and loose visits watched together."""
    watched = seconds > 0
    row = strata.row(
        np.concatenate((exposed.stratum, visits.stratum[watched])),
        np.concatenate((exposed.day, visits.day[watched])),
    )
    sign = visits.sign[watched].astype(np.float64)
    classes = np.concatenate((exposed.utilisation_class, visits.utilisation_class[watched]))
    number = np.concatenate((exposed.visits, sign))
    time = np.concatenate((exposed.seconds, sign * seconds[watched]))
    inside = row >= 0
    return weigh(strata.frame(row[inside], classes[inside], number[inside], time[inside]))


@dataclass(frozen=True, slots=True)
class _Weighing:
    """Weights by stratum, day and class."""

    strata: Strata
    weights: Weights

    def open(self, cells: Cells) -> OpenCells:
        """These cells with their weights."""
        row = self.strata.row(cells.stratum, cells.day)
        weight, group = self._of(row, cells.utilisation_class + 1)
        return OpenCells(cells.moments or empty(0), cells.of_functions, weight, group, cells.k1)

    def of(self, visits: UnmergedVisits) -> tuple[Float, Int64]:
        """Weight and variance stratum of each visit; -1: it weighs nothing."""
        return self._of(self.strata.row(visits.stratum, visits.day), visits.utilisation_class)

    def _of(self, row: Int64, utilisation_class: Int64) -> tuple[Float, Int64]:
        if not len(self.weights.group):
            return np.zeros(len(row)), np.full(len(row), -1, np.int64)
        inside = row >= 0
        weight = np.where(inside, self.weights.weight[row, utilisation_class], 0.0)
        return weight, np.where(inside, self.weights.group[row, utilisation_class], -1)


def _closed(cells: WeightedCells) -> ClosedCells:
    if cells.moments is None:
        raise TypeError("closed cells are read with their moments")
    return ClosedCells(cells.moments, cells.of_functions, cells.k1, cells.visits)


@dataclass(frozen=True, slots=True)
class _Loose:
    """Visits that are in no cell, what they brought, and how they weigh."""

    visits: UnmergedVisits
    facts: UnmergedFacts
    weight: Float

    @property
    def sign(self) -> Int64:
        """Of each profile's visit."""
        return self.visits.sign[self.facts.visit]

    @property
    def of_visit(self) -> Float:
        """Weight of each profile's visit."""
        return self.weight[self.facts.visit]


def _by_stack(
    cells: Cells, open_: OpenCells, closed: WeightedCells, loose: _Loose
) -> tuple[Int64, Int64, Float]:
    """Units observed and of the fleet by stack."""
    facts = loose.facts
    own = facts.units * loose.sign[facts.profile]
    stack, place = distinct(np.concatenate((cells.stack, closed.stack, facts.stack)))
    units = np.concatenate((cells.units, closed.units, own))
    observed = sum_at(place, np.maximum(units, 0), len(stack))
    if len(own) and int(own.min()) < 0:
        observed -= sum_at(place, np.maximum(-units, 0), len(stack))
    weights = (cells.units * open_.weight[cells.cell], closed.weighted, own * loose.of_visit[facts.profile])
    weighted = weight_at(place, np.concatenate(weights), len(stack))
    # A stack that was taken out wholly stays, without units: its functions are still in the cells' moments.
    return stack, observed, np.where(observed > 0, np.maximum(weighted, 0.0), 0.0)


def _applications(cells: Cells, open_: OpenCells, closed: WeightedCells, loose: _Loose) -> CellRows:
    """Units observed and of the fleet by application."""
    facts = loose.facts
    own = facts.samples * facts.period * loose.sign
    of, place = np.unique(np.concatenate((cells.k1, closed.k1, facts.application)), return_inverse=True)
    units = np.zeros(len(of), np.int64)
    np.add.at(units, place, np.concatenate((cells.total, closed.total, own)))
    weights = (cells.total * open_.weight, closed.weighted_total, own * loose.of_visit)
    weighted = weight_at(place, np.concatenate(weights), len(of))
    return CellRows(of.astype(np.int64), units, np.maximum(weighted, 0.0))
