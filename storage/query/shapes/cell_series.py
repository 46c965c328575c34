"""A selection over time from merged cells, which are kept longer than the visits' own chunks.

Steps of whole UTC days use the cells of days, steps of whole hours those of hours. Facts that are in no cell yet are
read from their visits. The heaviest rows are those of the table of the whole range. Cells give the same numbers for a
row as single visits do, but they do not record which visits two rows share: so the remainder gets its widest possible
interval. Source: docs/numbers.md, "Series".
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.moments import Moments
from storage.arrays import Bool, Float, Int64, sum_at
from storage.errors import BudgetExceeded
from storage.query.access_path import Shape
from storage.query.answers.totals import Totals
from storage.query.cells.rollup_scan import NotInRollup, RollupScan, scan_rollup
from storage.query.cells.row_moments import DeltaMoments, Pairs
from storage.query.cells.step_moments import InSteps, SteppedCells, SteppedVisits, remainder
from storage.query.estimation import visit_totals
from storage.query.estimation.covered_time import HOUR_S
from storage.query.estimation.visit_evidence import Seen
from storage.query.estimation.visit_times import VisitTimes, read_hourly_times
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.visit_scan import SampleType, campaign_of, sample_type_of
from storage.query.function_samples import ApplicationSamples, FunctionSamples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.steps import DAY_S, Steps
from storage.query.shapes.table_frames import FunctionRows, brought_at
from storage.query.shapes.table_rows import ApplicationRows
from storage.query.shapes.totals import totals_of_cells
from storage.query.store_reading import StoreReading
from storage.rollup import read_cells as stored
from storage.rollup.cell_rows import ANSWER_BYTES
from storage.rollup.cubes import APPLICATION as APPLICATIONS
from storage.rollup.cubes import HOUR, HOURS_A_DAY
from storage.rollup.read_cells import Cells, Functions
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch

Name = tuple[dict[str, str], int | None]
"""A row's key and its function."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class CellSeries:
    """A selection by step, from cells. Rows: the whole; the remainder, if lines are additive; the lines."""

    kind: SampleType
    totals: Totals
    times: VisitTimes
    ingested: Int64
    """Days with ingested visits."""
    names: tuple[Name, ...]
    """Names of the lines."""
    lines_total: int
    additive: bool
    units: Int64
    """Observed units; (rows, steps)."""
    counts_visits: tuple[bool, ...]
    """By row: whether its moments have a visit count."""
    moments: tuple[Moments, ...]
    """Moments of the rows, by step."""


def cell_series(
    reading: StoreReading, selection: Selection, over: Steps, *, by: Sequence[str], limit: int, own: bool
) -> CellSeries | None:
    """The series from cells; None if it has to be read visit by visit. Raises as `Reading.samples` does."""
    keys = split_keys(by) if by else ((), ("function",))
    if keys not in (((), ("function",)), ((APPLICATION,), ())):
        return None
    by_application = keys == ((APPLICATION,), ())
    try:
        with query_budget.given_back():
            asked = _Asked(
                reading, selection, over, limit if by else 0, own=own, by_application=by_application
            )
            return asked.answer()
    except (TooMuch, NotInRollup):
        return None
    except BudgetExceeded as error:
        if error.limit != "memory":
            raise
        return None


def whole_by_step(reading: StoreReading, event: Selection, over: Steps) -> Float | None:
    """Σwx and Σ(wx)² over the visits of each step of an event, (2, steps); None if cells cannot give them.

    Raises as `Reading.samples` does.
    """
    asked = _Asked(reading, event, over, 0, own=True, by_application=False)
    with suppress(NotInRollup):
        found = asked.scanned(sample_type_of(reading.connection, event))
        return None if found is None else asked.squares_of_whole(found)
    return None


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The heaviest rows of the whole range."""

    totals: Totals
    ids: Int64
    """Ids of functions, or of applications."""
    names: tuple[Name, ...]
    total: int


@dataclass(frozen=True, slots=True)
class _Asked:
    reading: StoreReading
    selection: Selection
    over: Steps
    limit: int
    own: bool
    by_application: bool

    def scanned(self, kind: SampleType) -> RollupScan | None:
        """The cells and the visits in no cell; None if they cannot be split by step."""
        reading, step_s = self.reading, self.over.step_s
        shape = Shape(
            labels=(APPLICATION,) if self.by_application else (),
            frame=None if self.by_application else "function",
            stacks=False,
            step_s=step_s,
            some_functions=bool(self.limit) and not self.by_application,
        )
        plan = reading.source.planner.plan(reading.connection, self.selection, kind, shape)
        campaign_id = campaign_of(reading.connection, self.selection)
        if plan.cells is None or campaign_id is None:
            return None
        found = scan_rollup(
            reading.connection, self.selection, kind, campaign_id, plan.cells, reading.source.cache
        )
        # On partly ingested days, hours are weighted visit by visit (`step_weights`).
        return None if found is None or (found.strata.waiting and step_s % DAY_S) else found

    def squares_of_whole(self, found: RollupScan) -> Float:
        """As `whole_by_step`."""
        cells, visits, count = self._stepped(found, found.cells), found.delta.visits, self.over.count
        weight, sums, step = cells.cells.weight, cells.cells.sums, self._steps_at(visits.hour)
        delta = found.delta.facts
        of_loose = found.delta.weight * sum_at(delta.visit, delta.samples * delta.period, len(visits))
        by_step = [
            np.bincount(cells.step, of_cells, count) + np.bincount(step, visits.sign * of_visits, count)
            for of_cells, of_visits in (
                (weight * sums.x, of_loose),
                (weight**2 * sums.xx, of_loose**2),
            )
        ]
        # Where deltas cancel the cells, rounding errors remain.
        return np.where(self._units_of_whole(found) > 0, np.stack(by_step), 0.0)

    def answer(self) -> CellSeries | None:
        reading, over = self.reading, self.over
        kind = sample_type_of(reading.connection, self.selection)
        found = self.scanned(kind)
        if found is None:
            return None
        chosen = self._chosen()
        if chosen is None or chosen.totals.units != found.units:
            return None  # stacks have to be read, or past days have no cells of their own
        in_steps, units, counted = self._rows(found, chosen)
        design = found.evidence(_NONE).design
        whole = self._units_of_whole(found)
        additive = bool(self.limit) and (self.own or self.by_application)
        rest = whole - units.sum(axis=0)
        rows = [whole, rest] if additive else [whole]
        lefts = rest.tolist() if additive else [None] * over.count
        return CellSeries(
            kind,
            chosen.totals,
            read_hourly_times(
                reading.connection,
                found.source.campaign_id,
                found.selection.start,
                found.selection.end,
                found.strata.in_hours,
            ),
            design.days,
            chosen.names,
            chosen.total,
            additive,
            np.vstack([*rows, units]),
            (True, *([False] if additive else []), *counted.tolist()),
            tuple(
                _together(whole, lines, left)
                for (whole, lines), left in zip(in_steps.moments(over.count), lefts, strict=True)
            ),
        )

    def _chosen(self) -> _Chosen | None:
        if self.by_application:
            return self.reading.applications_of_cells(self.selection, self._heaviest_applications)
        return self.reading.functions_of_cells(self.selection, self._heaviest_functions)

    def _heaviest_functions(self, samples: FunctionSamples) -> _Chosen:
        rows = FunctionRows(self.reading.functions, samples)
        places = self._heaviest(rows)
        ids = np.array([rows.function_id(place) for place in places.tolist()], np.int64)
        return self._found(samples, rows, places, ids)

    def _heaviest_applications(self, samples: ApplicationSamples) -> _Chosen:
        evidence = samples.evidence
        names = self.reading.label_values(APPLICATION, evidence.rows.application)
        rows = ApplicationRows(names, evidence, samples.seen)
        places = self._heaviest(rows)
        return self._found(samples, rows, places, rows.application_ids(places))

    def _heaviest(self, rows: FunctionRows | ApplicationRows) -> Int64:
        weights = rows.own_weight if self.own else rows.total_weight
        return np.argsort(-weights, kind="stable")[: self.limit]

    def _found(
        self,
        samples: FunctionSamples | ApplicationSamples,
        rows: FunctionRows | ApplicationRows,
        places: Int64,
        ids: Int64,
    ) -> _Chosen:
        names = tuple((rows.key(place), rows.function_id(place)) for place in places.tolist())
        return _Chosen(totals_of_cells(samples), ids, names, len(rows.own) if self.limit else 0)

    def _rows(self, found: RollupScan, chosen: _Chosen) -> tuple[InSteps, Int64, Bool]:
        """The moments of these rows by step, their units by step, and whether each row's visit count is known."""
        if not self.by_application:
            return self._functions(found, chosen)
        return *self._applications(found, chosen), np.ones(len(chosen.ids), np.bool_)

    def _functions(self, found: RollupScan, chosen: _Chosen) -> tuple[InSteps, Int64, Bool]:
        """As `_rows`."""
        rows, delta = len(chosen.ids), found.delta.facts
        shape, naming = self.reading.source.shape(self.reading.connection, delta.stack)
        canonical = naming.canonical
        row_of = np.full(max(len(canonical), int(shape.function.max(initial=0)) + 1) + 1, -1, np.int64)
        row_of[canonical[chosen.ids]] = np.arange(rows)
        row = row_of[canonical]  # by function id as the cells have it
        sums = found.open.of_functions(row >= 0)
        name = "own" if self.own else "total"
        amounts = getattr(sums, name)
        pairs = Pairs(
            sums.cell,
            row[sums.function],
            amounts.astype(np.float64),
            getattr(sums, f"{name}2"),
            getattr(sums, f"{name}_x"),
            getattr(sums, f"{name}4"),
            sums.row_visits.astype(np.float64),
        )
        there = np.flatnonzero(amounts) if self.own else np.arange(len(amounts))
        pairs = replace(
            pairs, **{field: getattr(pairs, field)[there] for field in Pairs.__slots__ if field != "second"}
        )
        seen = Seen(delta.visit[delta.profile], shape.leaf, delta.values, delta.units, _NONE)
        contributions = visit_totals.joined([], rows)
        if len(seen.leaf) and rows:
            both = brought_at(
                shape,
                shape.outermost,
                row_of[shape.function],
                seen,
                rows=rows,
                visits=len(found.delta.visits),
                totals=not self.own,
            )
            contributions = both.own if self.own else both.total
        cells = self._stepped(found, found.cells)
        units = self._units(pairs.row, cells.step[pairs.cell], amounts[there], rows)
        once = pairs.each_once(rows)
        # If functions of one cell were merged into one row later, visits with both are counted twice.
        counted = np.bincount(once.row, minlength=rows) == np.bincount(pairs.row, minlength=rows)
        if self.own:
            counted[:] = False  # cells count visits with the function anywhere in the stack
        return *self._in_steps(found, (cells, cells), once, contributions, units), counted

    def _applications(self, found: RollupScan, chosen: _Chosen) -> tuple[InSteps, Int64]:
        """The moments of these applications by step, and their units by step."""
        rows, delta = len(chosen.ids), found.delta.facts
        whole = self._stepped(found, found.cells)
        of_rows, cells = whole, found.cells
        if found.plan.cube is not APPLICATIONS:
            cells = stored.read_cells(
                found.connection,
                replace(found.source, cube=APPLICATIONS),
                found.covered,
                k1=tuple(chosen.ids.tolist()),
                facts=False,
                functions=Functions.NONE,
                limit=ANSWER_BYTES,
            )
            of_rows = SteppedCells(found.weighing.open(cells), self._steps_of(cells))
        row_of = {application: row for row, application in enumerate(chosen.ids.tolist())}
        row = np.fromiter((row_of.get(k, -1) for k in cells.k1.tolist()), np.int64, len(cells))
        pairs = Pairs.of_applications(of_rows.cells.sums, row, alone=of_rows is whole)
        of_profile = [row_of.get(application, -1) for application in delta.application.tolist()]
        contributions = visit_totals.of_pairs(
            np.array(of_profile, np.int64)[delta.profile] if of_profile else _NONE,
            delta.visit[delta.profile],
            delta.units,
            rows=rows,
            visits=len(found.delta.visits),
        )
        units = self._units(pairs.row, of_rows.step[pairs.cell], cells.total[pairs.cell], rows)
        return self._in_steps(found, (whole, of_rows), pairs, contributions, units)

    def _in_steps(
        self,
        found: RollupScan,
        cells: tuple[SteppedCells, SteppedCells],
        pairs: Pairs,
        contributions: PerVisit,
        units: Int64,
    ) -> tuple[InSteps, Int64]:
        visits, delta = found.delta.visits, found.delta.facts
        selected = sum_at(delta.visit, delta.samples * delta.period, len(visits))
        step = self._steps_at(visits.hour)
        signed = visits.sign[contributions.visit] * contributions.units
        units = units + self._units(contributions.row, step[contributions.visit], signed, contributions.rows)
        of_loose = DeltaMoments(
            visits.sign, found.delta.weight, found.group, visits.machine, delta.visit, selected
        )
        in_steps = InSteps(
            found.weighing.weights, *cells, pairs, SteppedVisits(of_loose, step), contributions
        )
        return in_steps, units

    def _units(self, row: Int64, step: Int64, units: Int64, rows: int) -> Int64:
        table = np.zeros((rows, self.over.count), np.int64)
        np.add.at(table, (row, step), units)
        return table

    def _units_of_whole(self, found: RollupScan) -> Int64:
        visits, delta = found.delta.visits, found.delta.facts
        step = np.concatenate((self._steps_of(found.cells), self._steps_at(visits.hour)[delta.visit]))
        units = np.concatenate((found.cells.total, found.delta.sign * delta.samples * delta.period))
        return self._units(np.zeros(len(step), np.int64), step, units, 1).ravel()

    def _stepped(self, found: RollupScan, cells: Cells) -> SteppedCells:
        return SteppedCells(found.open, self._steps_of(cells))

    def _steps_of(self, cells: Cells) -> Int64:
        hour = np.where(cells.level == HOUR, cells.bucket, cells.bucket * HOURS_A_DAY)
        return self._steps_at(hour)

    def _steps_at(self, hour: Int64) -> Int64:
        return self.over.of((hour * HOUR_S).astype(np.float64))


def _together(whole: Moments, lines: Moments, left: int | None) -> Moments:
    """Joins the moments of the whole, the remainder and the lines.

    `left` is the remainder's observed units; None if there is no remainder.
    """
    parts = [whole]
    if left is not None:
        rest = remainder(whole, lines)
        parts.append(rest if left > 0 else replace(rest, y=np.zeros(1)))  # else `y` is a rounding error
    parts.append(lines)

    def joined(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return replace(
        whole,
        y=joined("y"),
        vyy=joined("vyy"),
        vxy=joined("vxy"),
        second=joined("second"),
        fourth=joined("fourth"),
        visits=joined("visits"),
    )
