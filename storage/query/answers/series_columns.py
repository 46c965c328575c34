"""A selection over time as JSON has it: the steps once, and columns over them for each line."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.columns import IntervalColumns, interval_columns, rounded
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.series import PointRow, Role, SeriesRows
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class SeriesSteps(Answer):
    """Pieces of time, of whole minutes, hours, days or weeks of UTC, in order: all lists are of one length."""

    start: Annotated[tuple[str, ...], Field(description="RFC 3339, like `end`.")]
    end: tuple[str, ...]
    partial: Annotated[
        tuple[bool, ...],
        Field(
            description="The step reaches beyond the selection or into the future, so its totals cover only a part of it."
        ),
    ]
    covered_seconds: Annotated[
        tuple[float, ...],
        Field(description="Seconds of the step, within the selection, in which the campaign drew visits."),
    ]
    estimated_seconds: Annotated[
        tuple[float, ...],
        Field(
            description="Seconds of these on UTC days with ingested visits. Core-seconds divided by these are the mean "
            "number of busy cores. 0 if too few visits are ingested."
        ),
    ]
    visits_drawn: Annotated[tuple[int, ...], Field(description="Visits drawn, with any outcome.")]
    visits_waiting: Annotated[
        tuple[int, ...],
        Field(
            description="Drawn visits without an outcome yet: under way, or archived and not ingested. The ingested visits "
            "represent them."
        ),
    ]
    too_few_ingested: Annotated[
        tuple[bool, ...],
        Field(
            description="Visits wait, and too few are ingested for estimates. The step has observed values, and null for "
            "fleet estimates."
        ),
    ]


@dataclass(frozen=True, slots=True)
class SeriesPoints(Answer):
    """A line's values in each step. Null: no visit of the step saw any of the selection, or too few are ingested.

    If the visits of a step could have seen the selection but saw none of it, `core_seconds` has an upper bound.
    """

    units: Annotated[
        tuple[int, ...],
        Field(description="Observed units. The sum over a line's steps is the value of the whole time."),
    ]
    share: Annotated[
        IntervalColumns,
        Field(
            description="Estimated share of the whole selection in this step. The ends are null without a random design."
        ),
    ]
    core_seconds: Annotated[
        IntervalColumns | None,
        Field(
            description="CPU time of the whole fleet in the step's `estimated_seconds`. The sum over a line's steps is the "
            "value of the whole time if no visits wait. It is 0, at most hi, if no visit of the step saw any of "
            "it; null if the visits saw nothing of the event, or could not have seen the selection. The whole "
            "column is null for events not counted in time."
        ),
    ]
    low_confidence: Annotated[
        tuple[int, ...],
        Field(
            description="Numbers of the steps, from 0, with low confidence: too few visits contribute for a narrow "
            "interval."
        ),
    ]
    visits: Annotated[
        tuple[int | None, ...],
        Field(
            description="Visits with a sample of the line. Null if merged cells were read, which do not count visits."
        ),
    ]


@dataclass(frozen=True, slots=True)
class SeriesLine(Answer):
    """A row over time."""

    role: Annotated[
        Role,
        Field(
            description="whole: all samples that pass the selection's filters. remainder: the whole without the rows."
        ),
    ]
    key: Annotated[
        dict[str, str],
        Field(description="The row's key as in /table. Empty for the whole and the remainder."),
    ]
    function_id: int | None
    points: Annotated[SeriesPoints, Field(description="Columns over the steps.")]


@dataclass(frozen=True, slots=True)
class SeriesAnswer(Answer):
    """A selection over time."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    step_seconds: int
    seconds_per_unit: Annotated[
        float | None,
        Field(
            description="Seconds per unit, to convert observed units. Null for events not counted in time."
        ),
    ]
    steps: SeriesSteps
    lines: Annotated[
        tuple[SeriesLine, ...],
        Field(
            description="The whole, then rows by descending total over the whole time, then the remainder. There is no "
            "remainder with share=total if a sample may be in several rows."
        ),
    ]
    lines_total: Annotated[int, Field(description="Total number of rows.")]


def series_columns(found: SeriesRows) -> SeriesAnswer:
    """The JSON answer of /series."""
    timed = found.seconds_per_unit is not None
    return SeriesAnswer(
        selection=found.selection,
        totals=found.totals,
        by=found.by,
        step_seconds=found.step_seconds,
        seconds_per_unit=found.seconds_per_unit,
        steps=SeriesSteps(
            **{
                column.name: tuple(getattr(step, column.name) for step in found.steps)
                for column in fields(SeriesSteps)
            }
        ),
        lines=tuple(
            SeriesLine(line.role, line.key, line.function_id, _columns(line.points, timed=timed))
            for line in found.lines
        ),
        lines_total=found.lines_total,
    )


def _columns(points: Sequence[PointRow], *, timed: bool) -> SeriesPoints:
    return SeriesPoints(
        units=tuple(point.units for point in points),
        share=IntervalColumns(
            value=rounded(point.share for point in points),
            lo=rounded(point.lo for point in points),
            hi=rounded(point.hi for point in points),
        ),
        core_seconds=interval_columns([point.core_seconds for point in points]) if timed else None,
        low_confidence=tuple(place for place, point in enumerate(points) if point.low_confidence),
        visits=tuple(point.visits for point in points),
    )
