"""The samples of a selection grouped by any k dimensions: the query view (DIGEST G14, G15).

A key consists of labels and frame keys (function, file, line, binary) in any combination. A sample counts once in a
row's total, however often the row's function (file, binary) occurs in its stack. So totals of rows are not additive.
Self is: the rows and the remainder add up to the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypedDict

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.figures import Interval, as_seconds, in_units
from storage.query.answers.table import Remainder, TableAnswer, TableRow
from storage.query.answers.totals import Totals
from storage.query.cells.cell_evidence import Merged
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.visit_evidence import Seen
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import Profiles, SampleType
from storage.query.function_samples import ApplicationSamples, FunctionSamples
from storage.query.line_samples import LinedSamples
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.row_order import Page, ordered
from storage.query.shapes.table_frames import FunctionRows, frame_rows
from storage.query.shapes.table_lines import line_rows
from storage.query.shapes.table_rows import ApplicationRows, Grouping, LabelRows, Rows
from storage.query.shapes.totals import totals, totals_of_cells

MOST_ROWS = 10_000
_MOST_GROUPS = 20_000
"""Combinations of labels in one table that is also grouped by frames."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """The selection's samples, grouped by these keys."""

    selection: Selection
    by: tuple[str, ...] = ("function",)
    page: Page = field(default_factory=Page)

    def answer(self, reading: Reading) -> TableAnswer:
        """The table. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        keys = split_keys(self.by)
        rows: Rows
        if keys == ((), ("function",)):
            by_function = reading.functions_of(self.selection, partial(self._of_functions, reading))
            if isinstance(by_function, TableAnswer):
                return by_function
            samples, rows = by_function, all_rows(reading, by_function, self.by)
        elif keys == ((APPLICATION,), ()):
            applications = reading.applications_of(self.selection, partial(self._of_applications, reading))
            if isinstance(applications, TableAnswer):
                return applications
            samples, rows = applications, all_rows(reading, applications, self.by)
        elif keys.by_line:
            lined = reading.lined(self.selection, keys.labels)
            samples, rows = lined.samples, rows_of_lines(reading, lined, self.by)
        else:
            samples = reading.samples(self.selection, keys.labels, keys.frame)
            rows = all_rows(reading, samples, self.by)
        return self._answer(samples.kind, totals(reading.functions, samples), samples.whole, rows)

    def _of_functions(self, reading: Reading, samples: FunctionSamples) -> TableAnswer:
        return self._by_cells(samples, FunctionRows(reading.functions, samples))

    def _of_applications(self, reading: Reading, samples: ApplicationSamples) -> TableAnswer:
        return self._by_cells(samples, _application_rows(reading, samples.evidence, samples.seen))

    def _by_cells(self, samples: FunctionSamples | ApplicationSamples, rows: Rows) -> TableAnswer:
        return self._answer(samples.kind, totals_of_cells(samples), samples.whole, rows)

    def _answer(self, kind: SampleType, behind: Totals, whole: float, rows: Rows) -> TableAnswer:
        """The page of these rows; `whole` is the denominator of shares."""
        order = ordered(rows, self.page)
        shown = order[self.page.offset : self.page.offset + self.page.limit]
        left = int(rows.own.sum()) - int(rows.own[shown].sum())
        left_weight = float(rows.own_weight.sum()) - float(rows.own_weight[shown].sum())
        return TableAnswer(
            selection=selection_echo(self.selection, kind),
            totals=behind,
            by=self.by,
            rows=_shown(whole, kind.seconds_per_unit, rows, shown),
            rows_total=len(order),
            remainder=Remainder(
                rows=len(rows.own) - len(shown),
                self=left,
                self_seconds=as_seconds(left, kind.seconds_per_unit),
                self_share=_share(left_weight, whole),
            ),
        )


def all_rows(reading: Reading, samples: Samples, by: Sequence[str]) -> Rows:
    """All rows of the samples, neither sorted nor cut. The samples must have been read with the labels among `by`.

    Raises `BadSelection` for too many groups, and for lines, which `Samples` do not have (see `rows_of_lines`).
    """
    keys = split_keys(by)
    if keys.by_line:
        raise BadSelection("Only tables can be grouped by line.", hint="Use function instead of line.")
    if isinstance(samples.evidence, Merged):
        if not keys.frames:
            return _application_rows(reading, samples.evidence, samples.seen)
        grouping = Grouping(np.zeros(1, np.int64), ({},))
    else:
        grouping, _ = _grouping(reading, samples.profiles, keys.labels)
    if not keys.frames:
        return LabelRows(samples, grouping)
    _check(grouping)
    return frame_rows(reading.functions, samples, grouping, keys.frames)


def _application_rows(reading: Reading, evidence: Merged, seen: Seen) -> ApplicationRows:
    return ApplicationRows(reading.label_values(APPLICATION, evidence.rows.application), evidence, seen)


def grouped(reading: Reading, profiles: Profiles, labels: tuple[str, ...]) -> Grouping:
    """The profiles grouped by the labels that they were read with. Raises `BadSelection` for too many groups."""
    grouping, _ = _grouping(reading, profiles, labels)
    _check(grouping)
    return grouping


def rows_of_lines(reading: Reading, lined: LinedSamples, by: Sequence[str]) -> Rows:
    """As `all_rows`, for samples that were read with their lines."""
    keys = split_keys(by)
    grouping, numbers = _grouping(reading, lined.samples.profiles, keys.labels)
    _check(grouping)
    values = _values(reading, lined.lines.profiles, keys.labels)
    of_lines = np.fromiter((numbers[combination] for combination in values), np.int64, len(values))
    return line_rows(reading.functions, lined, grouping, of_lines, keys.frames)


def _check(grouping: Grouping) -> None:
    if len(grouping.labels) > _MOST_GROUPS:
        raise BadSelection(
            f"The table has {len(grouping.labels):,} groups of functions.",
            hint="Group by fewer labels, or add a matcher.",
        )


def shown_rows(samples: Samples, rows: Rows, shown: Int64) -> tuple[TableRow, ...]:
    """Some of the rows with all their details."""
    return _shown(samples.whole, samples.kind.seconds_per_unit, rows, shown)


def _shown(whole: float, scale: float | None, rows: Rows, shown: Int64) -> tuple[TableRow, ...]:
    """Some of the rows; `scale` is the core-seconds of a unit."""
    details = rows.details(shown)
    columns = zip(
        shown.tolist(),
        details.self_samples,
        details.total_samples,
        details.visits,
        details.machines,
        estimates(details.own, len(shown)),
        estimates(details.total, len(shown)),
        strict=True,
    )
    return tuple(
        TableRow(
            key=rows.key(place),
            function_id=rows.function_id(place),
            self=int(rows.own[place]),
            total=int(rows.total[place]),
            self_samples=self_samples,
            total_samples=total_samples,
            self_seconds=as_seconds(int(rows.own[place]), scale),
            total_seconds=as_seconds(int(rows.total[place]), scale),
            self_share=_share(float(rows.own_weight[place]), whole),
            total_share=_share(float(rows.total_weight[place]), whole),
            visits=visits,
            machines=machines,
            **estimated(own, total, scale),
        )
        for place, self_samples, total_samples, visits, machines, own, total in columns
    )


class Estimated(TypedDict):
    """The members of a row that come from estimates."""

    self_lo: float | None
    self_hi: float | None
    total_lo: float | None
    total_hi: float | None
    self_core_seconds: Interval | None
    total_core_seconds: Interval | None
    low_confidence: bool


def estimated(own: Estimate | None, total: Estimate | None, scale: float | None) -> Estimated:
    """A row's members from the estimates of its self and its total; `scale` is the core-seconds of a unit."""
    return {
        "self_lo": None if own is None else own.share.lo,
        "self_hi": None if own is None else own.share.hi,
        "total_lo": None if total is None else total.share.lo,
        "total_hi": None if total is None else total.share.hi,
        "self_core_seconds": None if own is None else in_units(own.units, scale),
        "total_core_seconds": None if total is None else in_units(total.units, scale),
        "low_confidence": any(each is not None and each.low_confidence for each in (own, total)),
    }


def only_row(samples: Samples, rows: Rows) -> TableRow:
    """The only row; if it was not observed, a row with its upper bound."""
    if len(rows.own):
        (row,) = shown_rows(samples, rows, np.zeros(1, np.int64))
        return row
    return unseen_row(samples, {})


def unseen_row(samples: Samples, key: dict[str, str]) -> TableRow:
    """A row that was not observed, with its upper bound."""
    (unseen,) = estimates(samples.evidence.nothing(), 1)
    scale = samples.kind.seconds_per_unit
    seconds = as_seconds(0, scale)
    return TableRow(
        key=key,
        function_id=None,
        self=0,
        total=0,
        self_samples=0,
        total_samples=0,
        self_seconds=seconds,
        total_seconds=seconds,
        self_share=0.0,
        total_share=0.0,
        visits=0,
        machines=0,
        **estimated(unseen, unseen, scale),
    )


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


Values = tuple[str, ...]


def _grouping(
    reading: Reading, profiles: Profiles, labels: tuple[str, ...]
) -> tuple[Grouping, dict[Values, int]]:
    """Groups profiles by the values of labels, and numbers each combination of values.

    Equal values are one group whatever their stored ids.
    """
    values = _values(reading, profiles, labels)
    numbers = {combination: number for number, combination in enumerate(sorted(set(values)))}
    if not labels:
        numbers = {(): 0}
    of = np.fromiter((numbers[combination] for combination in values), np.int64, len(values))
    return Grouping(
        of, tuple(dict(zip(labels, combination, strict=True)) for combination in numbers)
    ), numbers


def _values(reading: Reading, profiles: Profiles, labels: tuple[str, ...]) -> list[Values]:
    """The values of the labels for each profile."""
    columns = [reading.label_values(label, profiles.label(label)) for label in labels]
    return list(zip(*columns, strict=True)) if columns else [()] * len(profiles)
