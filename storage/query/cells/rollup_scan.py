"""Scan a selection's cells and its delta visits, and weight them.

Cells have sums by stack, from which everything follows, and sums by function, which are a tenth as many. Queries of
functions alone do not read the stacks (`storage.query.cells.function_sums`).
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import numpy as np
from sqlalchemy import Connection, func, select

from analysis.weights import Weights, weigh
from storage.arrays import Float, Int64, sum_at
from storage.query.access_path import CellPlan, cheapest, prefer_rollup
from storage.query.cells.block_source import BlockSource
from storage.query.cells.cell_evidence import CellRows, Merged
from storage.query.cells.chosen_cells import ChosenCells
from storage.query.cells.delta_visits import (
    DeltaFacts,
    DeltaVisits,
    merged_hours,
    read_facts,
    read_seconds,
    read_visits,
)
from storage.query.cells.edges import with_cheap_edges
from storage.query.cells.long_blocks import ClosedBlocks
from storage.query.cells.raw_blocks import OpenBlocks
from storage.query.cells.row_moments import ClosedCells, DeltaMoments, OpenCells
from storage.query.cells.seen_machines import read_known_machines
from storage.query.estimation.covered_time import (
    HOUR_S,
    Span,
    cells_horizon,
    facts_horizon,
    midnight,
    not_kept,
)
from storage.query.estimation.sampling_design import design_of
from storage.query.estimation.strata import Strata, read_strata
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import Selection
from storage.rollup import read_cells
from storage.rollup.cell_rows import ANSWER_BYTES
from storage.rollup.cubes import HOUR, HOURS_A_DAY, HOURS_KEPT_DAYS, Source, day_number
from storage.rollup.input_fingerprint import usable
from storage.rollup.moments import empty
from storage.rollup.read_cells import Cells, Functions, WeightedCells
from storage.rollup.time_cover import Bucket, Cover, State, cover, cover_by_hour, read_state
from storage.snapshots.decoded_cache import DecodedCache


class NotInRollup(Exception):
    """Cells cannot answer by function; by stack they may."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Cells by function."""

    open: OpenBlocks | ChosenCells
    closed: ClosedBlocks


@dataclass(frozen=True, slots=True)
class RollupScan:
    """Cells of a selection and its delta visits; together they are the whole selection."""

    connection: Connection
    selection: Selection
    """Restricted to the time that is kept."""
    plan: CellPlan
    covered: Cover
    closed_in: "_Closed"
    source: Source
    strata: Strata
    weighing: "Weighing"
    cells: Cells
    closed: WeightedCells
    open: OpenCells
    """`cells` with their weights."""
    closed_cells: ClosedCells
    delta: "Delta"
    group: Int64
    """Variance stratum of each delta visit."""
    ingested: int
    blocks: "Blocks | None"
    """The cells' sums by function; None if they were read by stack."""

    def observed(self) -> tuple[Int64, Int64]:
        """Stacks with their observed units, negative for visits to be subtracted; unordered."""
        cells = read_cells.read_cells(
            self.connection, self.source, self.covered, k1=self.plan.k1, moments=False, limit=ANSWER_BYTES
        )
        closed = read_cells.read_weighted(
            self.connection,
            self.source,
            self.covered,
            k1=self.plan.k1,
            moments=False,
            estimates=False,
            limit=ANSWER_BYTES,
        )
        facts = self.delta.facts
        return (
            np.concatenate((cells.stack, closed.stack, facts.stack)),
            np.concatenate((cells.units, closed.units, self.delta.signed_units)),
        )

    @property
    def units(self) -> int:
        """Observed units."""
        return int(self.cells.total.sum() + self.closed.total.sum() + self.delta.signed_units.sum())

    def evidence(
        self,
        canonical: Int64,
        rows: CellRows | None = None,
        row_cells: OpenCells | None = None,
        row_closed: ClosedCells | None = None,
        whole: tuple[OpenCells, ClosedCells] | None = None,
    ) -> Merged:
        """Moments and details; `canonical` has the canonical function by function id.

        If rows are applications, they are given with their cells. If these cover time with other cells than `self`,
        `whole` has the whole event's cells with the same cover. Otherwise rows are functions of `self`'s cells.
        """
        cells, closed, visits, delta = self.cells, self.closed, self.delta.visits, self.delta.facts
        sign = self.delta.sign
        selected = sum_at(delta.visit, delta.samples * delta.period, len(visits))
        return Merged(
            design=design_of(self.strata, self.weighing.weights, ingested=self.ingested),
            open=row_cells or self.open,
            closed=row_closed or self.closed_cells,
            whole_open=self.open if whole is None else whole[0],
            whole_closed=self.closed_cells if whole is None else whole[1],
            visits=DeltaMoments(
                visits.sign, self.delta.weight, self.group, visits.machine, delta.visit, selected
            ),
            rows=rows or CellRows(*(np.zeros(0, np.int64),) * 2, np.zeros(0)),
            canonical=canonical,
            samples=int(cells.samples.sum() + closed.samples.sum() + (sign * delta.samples).sum()),
            profiles=int(cells.profiles.sum() + closed.profiles.sum() + sign.sum()),
            visits_seen=int(cells.visits.sum() + closed.visits.sum() + visits.sign[selected > 0].sum()),
            fresh=bool(len(delta.visit)),
            known_machines=read_known_machines(self.connection),
        )


def scan_rollup(  # noqa: PLR0917 - what a selection is, and what is kept
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    campaign_id: int,
    plan: CellPlan,
    cache: DecodedCache,
) -> RollupScan | None:
    """Scan the selection by cells, by stack or by function as planned; `cache` has blocks by function.

    In a plan with a `longest` time, only functions that are requested one by one are read. Returns None if the campaign
    does not draw at random, or if too little is merged yet.
    """
    kept = None if plan.stacks else cache
    if kind.id is None:
        return None
    facts_kept = facts_horizon(connection)
    plan = with_cheap_edges(connection, selection, campaign_id, plan, facts_kept)
    begins, selected_s = selection.start, (selection.end - selection.start).total_seconds()
    today: date = connection.execute(select(func.current_date())).scalar_one()
    # One day less than the retention, because the process that drops hours may have another clock.
    hours_from = (day_number(today) - HOURS_KEPT_DAYS + 1) * HOURS_A_DAY
    state = read_state(
        connection, campaign_id, kind.id, first=plan.first, end=plan.end, hours_from=hours_from
    )
    covered = _covered(state, plan)
    if _lacks_facts(selection, covered, facts_kept):
        left = _whole_days(selection, plan, facts_kept)
        if left is None:
            return None
        selection, plan = left
        covered = _covered(state, plan)
    if plan.longest == HOUR and covered.rest:
        return None
    strata = read_strata(connection, campaign_id, selection.start, selection.end)
    if strata is None or not merged_hours(plan, covered):
        return None
    missing: tuple[Span, ...] = ()
    if begins < facts_kept:
        missing = not_kept(begins, selection.end, cells_horizon(connection))
    strata = replace(strata, selected_s=selected_s, missing=missing)
    source = Source(plan.cube, campaign_id, True, kind.id)
    closed = _Closed(connection, state, strata, plan)
    covered = covered.in_buckets(closed.of(source))
    if selection.start >= facts_kept:
        covered = cheapest(covered, strata.in_hours, plan)
        if not merged_hours(plan, covered) or not prefer_rollup(covered, strata.in_hours, plan):
            return None
    visits = read_visits(connection, selection, campaign_id, plan, covered)
    if visits is None:
        return None
    facts = read_facts(connection, visits, kind.id, plan.k1)
    if facts is None:
        return None
    chosen = plan.longest is not None
    read = _Read.of(connection, source, plan, covered, visits, kept=kept, chosen=chosen)
    if not (read.any_cells or facts.stacks.any()):
        source = replace(source, stacks=False)
        flat_covered = covered.in_buckets(closed.of(source))
        flat = _Read.of(connection, source, plan, flat_covered, visits, kept=kept, chosen=chosen)
        if flat.any_cells or len(facts.stacks) or not read.any_visits:
            read, covered = flat, flat_covered
    weighing = Weighing(strata, _weights(strata, read.exposed, visits, read.seconds))
    weight, group = weighing.of(visits)
    return RollupScan(
        connection=connection,
        selection=selection,
        plan=plan,
        covered=covered,
        closed_in=closed,
        source=read.source,
        strata=strata,
        weighing=weighing,
        cells=read.cells,
        closed=read.closed,
        open=weighing.open(read.cells, read.blocks),
        closed_cells=closed_of(read.closed, read.blocks),
        delta=Delta(visits, facts.of_depth(stacks=read.source.stacks), weight),
        group=group,
        ingested=int(read.exposed.visits.sum() + visits.sign[read.seconds > 0].sum()),
        blocks=read.blocks,
    )


def _covered(state: State, plan: CellPlan) -> Cover:
    return (cover_by_hour if plan.longest == HOUR else cover)(state, plan.first, plan.end)


@dataclass(frozen=True, slots=True)
class _Closed:
    """Which buckets of closed days are usable."""

    connection: Connection
    state: State
    strata: Strata
    plan: CellPlan

    def of(self, source: Source) -> frozenset[Bucket]:
        """The buckets of a source whose days have not changed since."""
        if self.plan.longest is not None:
            return frozenset()
        first, end = self.plan.first, self.plan.end
        return usable(self.connection, self.state, source, self.strata, first=first, end=end)


def _read_cells(
    connection: Connection, source: Source, plan: CellPlan, covered: Cover
) -> tuple[Cells, WeightedCells]:
    functions = Functions.NONE if plan.by_application else Functions.LATER
    cells = read_cells.read_cells(
        connection, source, covered, k1=plan.k1, functions=functions, limit=ANSWER_BYTES
    )
    closed = read_cells.read_weighted(
        connection, source, covered, k1=plan.k1, functions=functions, limit=ANSWER_BYTES
    )
    return cells, closed


def _lacks_facts(selection: Selection, cover: Cover, facts: datetime) -> bool:
    """Whether a part of the time would need chunks that are dropped."""
    edges = (selection.start, selection.end)
    return any(edge < facts and edge.timestamp() % HOUR_S for edge in edges) or any(
        low < facts.timestamp() // HOUR_S for low, _ in cover.rest
    )


def _whole_days(selection: Selection, plan: CellPlan, facts: datetime) -> tuple[Selection, CellPlan] | None:
    """The selection and its plan without partial days before `facts`; None if nothing is left.

    Such a day is only read as a whole: it has day cells, or all its hour cells if it never got a daily rollup.
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
    """Columns over strata, days and classes: exposure of merged visits."""

    stratum: Int64
    day: Int64
    utilisation_class: Int64
    visits: Float
    seconds: Float

    @classmethod
    def read(cls, connection: Connection, source: Source, hours: Sequence[tuple[int, int]]) -> "_Exposed":
        """Read the exposure of hours with cells."""
        parts = [read_cells.read_exposure(connection, source, *part) for part in _in_whole_days(hours)]
        columns = zip(
            *((p.stratum, p.day, p.utilisation_class, p.visits, p.seconds) for p in parts), strict=True
        )
        stratum, day, klass, visits, seconds = (np.concatenate(column) for column in columns)
        return cls(stratum, day, klass + 1, visits.astype(np.float64), seconds)


def _in_whole_days(hours: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Split these ranges into whole days and edges: the exposure of whole days was read already, to choose buckets."""
    for low, high in hours:
        first, end = -(-low // HOURS_A_DAY) * HOURS_A_DAY, high // HOURS_A_DAY * HOURS_A_DAY
        edges = [low, first, end, high] if first < end else [low, high]
        yield from ((a, b) for a, b in itertools.pairwise(edges) if a < b)


@dataclass(frozen=True, slots=True)
class _Read:
    """The cells of one depth, with the exposure of their visits and the seconds of the delta visits."""

    source: Source
    cells: Cells
    closed: WeightedCells
    blocks: Blocks | None
    exposed: _Exposed
    seconds: Float

    @classmethod
    def of(
        cls,
        connection: Connection,
        source: Source,
        plan: CellPlan,
        covered: Cover,
        visits: DeltaVisits,
        *,
        kept: DecodedCache | None,
        chosen: bool,
    ) -> "_Read":
        blocks = None
        if kept is None:
            cells, closed = _read_cells(connection, source, plan, covered)
        else:
            of = BlockSource(connection, kept, source, plan.k1)
            blocks = Blocks((ChosenCells if chosen else OpenBlocks)(of, covered), ClosedBlocks(of, covered))
            cells, closed = blocks.open.cells, blocks.closed.cells
        return cls(
            source,
            cells,
            closed,
            blocks,
            _Exposed.read(connection, source, merged_hours(plan, covered)),
            read_seconds(connection, visits, source.sample_type_id, stacks=source.stacks),
        )

    @property
    def any_cells(self) -> bool:
        return bool(len(self.cells) or len(self.closed))

    @property
    def any_visits(self) -> bool:
        return bool(self.exposed.visits.any() or self.seconds.any())


def _weights(strata: Strata, exposed: _Exposed, visits: DeltaVisits, seconds: Float) -> Weights:
    """Weights of all strata and days from the exposure of merged and delta visits together."""
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
class Weighing:
    """Weights by stratum, day and class."""

    strata: Strata
    weights: Weights

    def open(self, cells: Cells, blocks: Blocks | None = None) -> OpenCells:
        """These cells with their weights; `blocks` are the same cells by function."""
        row = self.strata.row(cells.stratum, cells.day)
        weight, group = self._of(row, cells.utilisation_class + 1)
        of_functions = cells.of_functions if blocks is None else blocks.open.of_functions
        return OpenCells(cells.moments or empty(0), of_functions, weight, group, cells.k1)

    def of(self, visits: DeltaVisits) -> tuple[Float, Int64]:
        """Weight and variance stratum of each visit; -1 if it has no weight."""
        return self._of(self.strata.row(visits.stratum, visits.day), visits.utilisation_class)

    def _of(self, row: Int64, utilisation_class: Int64) -> tuple[Float, Int64]:
        if not len(self.weights.group):
            return np.zeros(len(row)), np.full(len(row), -1, np.int64)
        inside = row >= 0
        weight = np.where(inside, self.weights.weight[row, utilisation_class], 0.0)
        return weight, np.where(inside, self.weights.group[row, utilisation_class], -1)


def closed_of(cells: WeightedCells, blocks: Blocks | None = None) -> ClosedCells:
    """These cells as inputs of moments; `blocks` are the same cells by function."""
    if cells.moments is None:
        raise TypeError("closed cells must be read with their moments")
    of_functions = cells.of_functions if blocks is None else blocks.closed.of_functions
    return ClosedCells(cells.moments, of_functions, cells.k1, cells.visits)


@dataclass(frozen=True, slots=True)
class Delta:
    """Visits that are in no cell, with their facts and weights."""

    visits: DeltaVisits
    facts: DeltaFacts
    weight: Float

    @property
    def sign(self) -> Int64:
        """Sign of each profile's visit."""
        return self.visits.sign[self.facts.visit]

    @property
    def of_visit(self) -> Float:
        """Weight of each profile's visit."""
        return self.weight[self.facts.visit]

    @property
    def signed_units(self) -> Int64:
        """Units of each fact, negative if its visit is to be subtracted."""
        return self.facts.units * np.repeat(self.sign, self.facts.facts)
