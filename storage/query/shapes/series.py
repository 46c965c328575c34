"""A selection over time: its heaviest rows step by step, each point with its interval.

Visits are weighted as in the whole selection, by stratum and UTC day, so the points of a row add up to the row of the
table. Only on days with visits that still wait to be ingested are they also weighted by step (docs/numbers.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.moments import none
from storage.arrays import Float, Int64, sum_at
from storage.errors import BadSelection
from storage.query.answers.figures import as_seconds, in_units
from storage.query.answers.series import LineRows, PointRow, SeriesRows, SeriesStep
from storage.query.answers.totals import Totals
from storage.query.estimation import visit_totals
from storage.query.estimation.estimates import Estimate, estimates_of_all
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import VisitTimes
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.shapes.cell_series import CellSeries, Name, cell_series
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.step_bounds import step_bounds
from storage.query.shapes.step_weights import StepWeights, step_weights
from storage.query.shapes.steps import Steps, steps
from storage.query.shapes.table import all_rows
from storage.query.shapes.totals import totals
from storage.snapshots import query_budget

MOST_LINES = 50
MOST_VALUES = 20_000
"""Limit for the points of all lines together; a point takes some 300 bytes of a response."""


@dataclass(frozen=True, slots=True)
class _InStep:
    """Makes the points of one step; `scale` is seconds per unit."""

    step: SeriesStep
    scale: float | None

    def point(
        self, units: int, share: float | None, estimate: Estimate | None, visits: int | None
    ) -> PointRow:
        """The point; `share` is None if the step has no samples, or too few visits are ingested."""
        scale, estimated_s = self.scale, self.step.estimated_seconds
        estimated = None if estimate is None else estimate.units
        interval = None if estimate is None or share is None else estimate.share
        return PointRow(
            start=self.step.start,
            units=units,
            seconds=as_seconds(units, scale),
            share=share,
            lo=None if interval is None else interval.lo,
            hi=None if interval is None else interval.hi,
            core_seconds=in_units(estimated, scale),
            cores=in_units(estimated, scale and estimated_s and scale / estimated_s),
            low_confidence=estimate is not None and estimate.low_confidence,
            visits=visits,
        )


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a series over its steps."""

    steps: tuple[SeriesStep, ...]
    whole: tuple[PointRow, ...]
    rows: tuple[tuple[Name, tuple[PointRow, ...]], ...]
    rows_total: int
    remainder: tuple[PointRow, ...] | None


@dataclass(frozen=True, slots=True)
class SeriesQuestion:
    """The selection over time: the whole and its heaviest rows."""

    selection: Selection
    by: tuple[str, ...] = ()
    """Empty: the whole alone."""
    limit: int = 5
    points: int = 100
    """Most steps, if `step_s` is 0."""
    step_s: int = 0
    """Length of a step in seconds; 0: a common length is chosen."""
    own: bool = True
    """A sample belongs to the row of its innermost frame; else to every row that a frame of it belongs to."""

    def answer(self, reading: Reading) -> SeriesRows:
        """The series. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        count = steps(self.selection, self.points, self.step_s).count
        if self.by and count * self.limit > MOST_VALUES:
            raise BadSelection(
                f"{self.limit} rows of {count:,} points exceed the limit of {MOST_VALUES:,} values.",
                hint="Choose fewer rows, or longer steps.",
                parameter="limit",
            )
        over = steps(self.selection, self.points, self.step_s)
        cells = None
        if reading.cells is not None:
            cells = cell_series(
                reading.cells, self.selection, over, by=self.by, limit=self.limit, own=self.own
            )
        if cells is not None:
            unseen = step_bounds(reading, self.selection, cells.kind, over, None, unseen=cells.units[0] == 0)
            return self._answer(cells.kind, cells.totals, _of_cells(self.selection, over, cells, unseen))
        labels = split_keys(self.by).labels if self.by else ()
        # Sums by visit have rows of labels or of frames, not of both.
        divided = bool(labels) and bool(split_keys(self.by).frames)
        read = reading.visits if divided else reading.by_visit
        samples = read(self.selection, labels)
        times = reading.visit_times(self.selection)
        if not isinstance(samples.evidence, Visits):
            raise TypeError("a series needs the samples by visit")
        found = self._lines(reading, samples, samples.evidence, times)
        return self._answer(samples.kind, totals(reading.functions, samples), found)

    def _answer(self, kind: SampleType, of_samples: Totals, found: _Lines) -> SeriesRows:
        lines = [LineRows("whole", {}, None, found.whole)]
        lines += [LineRows("row", *name, points) for name, points in found.rows]
        if found.remainder is not None:
            lines.append(LineRows("remainder", {}, None, found.remainder))
        return SeriesRows(
            selection=selection_echo(self.selection, kind),
            totals=of_samples,
            by=self.by,
            step_seconds=steps(self.selection, self.points, self.step_s).step_s,
            seconds_per_unit=kind.seconds_per_unit,
            steps=found.steps,
            lines=tuple(lines),
            lines_total=found.rows_total,
        )

    def _lines(self, reading: Reading, samples: Samples, evidence: Visits, times: VisitTimes) -> _Lines:
        over = steps(self.selection, self.points, self.step_s)
        left = samples.by_visit
        parts, names, total, additive = [_one_row(left)], [], 0, False
        if self.by:
            rows = all_rows(reading, samples, self.by)
            weights = rows.own_weight if self.own else rows.total_weight
            places = np.argsort(-weights, kind="stable")[: self.limit]
            contributions = rows.contributions(places, totals=not self.own)
            found = contributions.own if self.own else contributions.total
            names = [(rows.key(place), rows.function_id(place)) for place in places.tolist()]
            total = len(rows.own)
            additive = self.own or not split_keys(self.by).frames
            rest = left - sum_at(found.visit, found.units, len(evidence)) if additive else left
            parts += [_one_row(rest), found]
        weighed = step_weights(reading, self.selection, evidence, times, over)
        step = over.of(times.of(evidence.id))
        unseen = self._unseen(reading, samples, evidence, times, sum_at(step, evidence.selected, over.count))
        shown = _steps(self.selection, times, over, evidence.design.days, weighed.unavailable)
        in_step = [_InStep(each, samples.kind.seconds_per_unit) for each in shown]
        lines = _points(weighed, _stacked(parts), step, unseen, in_step)
        return _Lines(
            steps=shown,
            whole=lines[0],
            rows=tuple(zip(names, lines[2:], strict=True)),
            rows_total=total,
            remainder=lines[1] if additive else None,
        )

    def _unseen(
        self, reading: Reading, samples: Samples, evidence: Visits, times: VisitTimes, selected: Int64
    ) -> Float:
        """`step_bounds`; `selected` are the observed units of each step that match the labels."""
        over, coverage = steps(self.selection, self.points, self.step_s), evidence.design.coverage
        if not coverage.random or coverage.approximate:  # visits that were not read may have some
            return np.full(over.count, np.nan)
        return step_bounds(reading, self.selection, samples.kind, over, times, unseen=selected == 0)


def _of_cells(selection: Selection, over: Steps, found: CellSeries, unseen: Float) -> _Lines:
    lines: list[list[PointRow]] = [[] for _ in found.units]
    shown = _steps(selection, found.times, over, found.ingested, frozenset())
    moments = [
        of_step if units else replace(none(len(lines)), unseen=bound)  # the moments may hold rounding errors
        for of_step, units, bound in zip(found.moments, found.units[0].tolist(), unseen.tolist(), strict=True)
    ]
    for number, (of_step, known) in enumerate(zip(moments, estimates_of_all(moments), strict=True)):
        in_step = _InStep(shown[number], found.kind.seconds_per_unit)
        visits = of_step.visits.tolist()
        for row, (line, estimate) in enumerate(zip(lines, known, strict=True)):
            share = None if estimate is None or of_step.x <= 0 else estimate.share.value
            counted = int(visits[row]) if found.counts_visits[row] else None
            line.append(in_step.point(int(found.units[row, number]), share, estimate, counted))
    whole, *rest = (tuple(line) for line in lines)
    remainder = rest.pop(0) if found.additive else None
    return _Lines(
        steps=shown,
        whole=whole,
        rows=tuple(zip(found.names, rest, strict=True)),
        rows_total=found.lines_total,
        remainder=remainder,
    )


def _steps(
    selection: Selection, times: VisitTimes, over: Steps, ingested: Int64, unavailable: frozenset[int]
) -> tuple[SeriesStep, ...]:
    """`ingested` are the days with ingested visits, `unavailable` the steps with too few of them."""
    begin, end = selection.start.timestamp(), selection.end.timestamp()
    covered, weighed = np.zeros((2, over.count))
    if times.covered is not None:
        end = min(end, times.covered.until)
        covered = times.covered.within(over.starts, over.ends)
        weighed = times.covered.of_days(ingested).within(over.starts, over.ends)
    weighed[list(unavailable)] = 0.0
    partial = (over.starts < begin) | (over.ends > end)
    drawn = np.bincount(over.of(times.drawn_at[times.at_random]), minlength=over.count)
    waiting = np.bincount(over.of(times.drawn_at[times.waits]), minlength=over.count)
    too_few = (waiting > 0) & (weighed == 0)
    columns = zip(
        *(column.tolist() for column in (partial, covered, weighed, drawn, waiting, too_few)), strict=True
    )
    return tuple(
        SeriesStep(format_time(over.time(i)), format_time(over.time(i + 1)), *values)
        for i, values in enumerate(columns)
    )


def _one_row(units: Int64) -> PerVisit:
    """One row with the units of each visit."""
    seen = np.flatnonzero(units)
    return PerVisit(np.zeros(len(seen), np.int64), seen, units[seen], 1)


def _stacked(parts: Sequence[PerVisit]) -> PerVisit:
    """The rows of all parts, concatenated."""
    first = np.cumsum([0, *(part.rows for part in parts)]).tolist()
    return visit_totals.joined(
        [replace(part, row=part.row + at) for part, at in zip(parts, first, strict=False)], first[-1]
    )


def _points(
    weighed: StepWeights, found: PerVisit, step: Int64, unseen: Float, in_step: Sequence[_InStep]
) -> list[tuple[PointRow, ...]]:
    """The points of each row.

    `step` is that of each visit, `unseen` the upper bound of each step without samples.
    """
    evidence, count = weighed.visits, len(unseen)
    place = found.row * count + step[found.visit]
    units = sum_at(place, found.units, found.rows * count).reshape(found.rows, count)
    visits = np.bincount(place, minlength=found.rows * count).reshape(found.rows, count)
    selected = np.bincount(step, evidence.weight * evidence.selected, count).tolist()
    known = _estimates(weighed, found, step, unseen)
    lines: list[list[PointRow]] = [[] for _ in range(found.rows)]
    for number, of_step in enumerate(known):
        query_budget.checkpoint()
        for row, (line, estimate) in enumerate(zip(lines, of_step, strict=True)):
            observed = int(units[row, number])
            share = None
            if selected[number] > 0:
                share = min(observed / selected[number], 1.0) if estimate is None else estimate.share.value
            line.append(in_step[number].point(observed, share, estimate, int(visits[row, number])))
    return [tuple(line) for line in lines]


def _estimates(
    weighed: StepWeights, found: PerVisit, step: Int64, unseen: Float
) -> Sequence[Sequence[Estimate | None]]:
    """The estimates of the rows, by step."""
    moments = weighed.visits.moments_in_parts(found, step, len(unseen))
    if moments is None:
        return [[None] * found.rows] * len(unseen)
    for number in weighed.varying:
        inside, pairs = step == number, step[found.visit] == number
        new = np.cumsum(inside) - 1
        here = PerVisit(found.row[pairs], new[found.visit[pairs]], found.units[pairs], found.rows)
        moments[number] = _of(weighed.of(number), np.flatnonzero(inside)).moments(here) or moments[number]
    return estimates_of_all(
        [replace(of_step, unseen=bound) for of_step, bound in zip(moments, unseen.tolist(), strict=True)]
    )


def _of(evidence: Visits, visits: Int64) -> Visits:
    """Some of the visits, without their profiles."""
    return replace(
        evidence,
        of_profile=visits[:0],
        id=evidence.id[visits],
        stratum=evidence.stratum[visits],
        machine=evidence.machine[visits],
        weight=evidence.weight[visits],
        group=evidence.group[visits],
        selected=evidence.selected[visits],
    )
