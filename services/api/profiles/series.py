"""A selection over time: /series."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.estimates import IntervalAnswer, as_seconds, interval_document
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.api.profiles.selection_echo import SelectionEcho, selection_document
from services.api.profiles.totals import TotalsAnswer, totals_document
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time, parse_length
from storage.query.shapes.series import MOST_LINES, Point, SeriesQuestion, Step
from storage.query.shapes.series import SeriesAnswer as FoundSeries
from storage.query.shapes.steps import MOST_POINTS

Role: TypeAlias = Literal["whole", "row", "remainder"]


class SeriesSteps(Answer):
    """Pieces of time, of whole minutes, hours, days or weeks of UTC, in order: all lists are of one length."""

    start: list[str] = Field(description="RFC 3339, like `end`.")
    end: list[str]
    partial: list[bool] = Field(
        description="The step reaches beyond the selection or into the future, so its totals cover only a part of it."
    )
    covered_seconds: list[float] = Field(
        description="Seconds of the step, within the selection, in which the campaign drew visits."
    )
    weighed_seconds: list[float] = Field(
        description="Seconds of these on UTC days with ingested visits. Core-seconds divided by these are the mean "
        "number of busy cores. 0 if too few visits are ingested."
    )
    visits_drawn: list[int] = Field(description="Visits drawn, with any outcome.")
    visits_waiting: list[int] = Field(
        description="Drawn visits without an outcome yet: under way, or archived and not ingested. The ingested visits "
        "represent them."
    )
    too_few_ingested: list[bool] = Field(
        description="Visits wait, and too few are ingested for estimates. The step has observed values, and null for "
        "fleet estimates."
    )


class IntervalColumns(Answer):
    """Estimates for the fleet with their 95 % intervals, to nine digits; null: there is none."""

    value: list[float | None]
    lo: list[float | None]
    hi: list[float | None]


class SeriesPoints(Answer):
    """A line's values in each step. Null: no visit of the step saw any of the selection, or too few are ingested.

    If the visits of a step could have seen the selection but saw none of it, `core_seconds` has an upper bound.
    """

    units: list[int] = Field(
        description="Observed units. The sum over a line's steps is the value of the whole time."
    )
    share: IntervalColumns = Field(
        description="Estimated share of the whole selection in this step. The ends are null without a random design."
    )
    core_seconds: IntervalColumns | None = Field(
        description="CPU time of the whole fleet in the step's `weighed_seconds`. The sum over a line's steps is the "
        "value of the whole time if no visits wait. It is 0, at most hi, if no visit of the step saw any of "
        "it; null if the visits saw nothing of the event, or could not have seen the selection. The whole "
        "column is null for events not counted in time."
    )
    low_confidence: list[int] = Field(
        description="Numbers of the steps, from 0, with low confidence: too few visits contribute for a narrow "
        "interval."
    )
    visits: list[int | None] = Field(
        description="Visits with a sample of the line. Null if merged cells were read, which do not count visits."
    )


class SeriesLine(Answer):
    """A row over time."""

    role: Role = Field(
        description="whole: all samples that pass the selection's filters. remainder: the whole without the rows."
    )
    key: dict[str, str] = Field(
        description="The row's key as in /table. Empty for the whole and the remainder."
    )
    function_id: int | None
    points: SeriesPoints = Field(description="Columns over the steps.")


class SeriesAnswer(Answer):
    """A selection over time."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    step_seconds: int
    seconds_per_unit: float | None = Field(
        description="Seconds per unit, to convert observed units. Null for events not counted in time."
    )
    steps: SeriesSteps
    lines: list[SeriesLine] = Field(
        description="The whole, then rows by descending total over the whole time, then the remainder. There is no "
        "remainder with share=total if a sample may be in several rows."
    )
    lines_total: int = Field(description="Total number of rows.")


class PointRow(Answer):
    """A point as a row of CSV or Arrow, behind the columns of its line."""

    start: str
    units: int
    seconds: float | None
    share: float | None
    lo: float | None
    hi: float | None
    core_seconds: IntervalAnswer | None
    cores: IntervalAnswer | None
    low_confidence: bool
    visits: int | None


class LineRows(Answer):
    """A line with its points as rows."""

    role: Role
    key: dict[str, str]
    function_id: int | None
    points: list[PointRow]


class SeriesRows(Answer):
    """What CSV and Arrow are made of."""

    lines: list[LineRows]


def series_columns(document: Json) -> Json:
    """The JSON answer of /series from `series_document`: the steps once, and columns over them for each line."""
    timed = document["seconds_per_unit"] is not None
    steps = document["steps"]
    return {
        **document,
        "steps": {name: [step[name] for step in steps] for name in SeriesSteps.model_fields},
        "lines": [{**line, "points": _columns(line["points"], timed=timed)} for line in document["lines"]],
    }


def _columns(points: Sequence[Json], *, timed: bool) -> Json:
    shares = [{"value": point["share"], "lo": point["lo"], "hi": point["hi"]} for point in points]
    return {
        "units": [point["units"] for point in points],
        "share": _intervals(shares),
        "core_seconds": _intervals([point["core_seconds"] for point in points]) if timed else None,
        "low_confidence": [place for place, point in enumerate(points) if point["low_confidence"]],
        "visits": [point["visits"] for point in points],
    }


def _intervals(intervals: Sequence[Json | None]) -> Json:
    return {
        name: [None if each is None else _rounded(each[name]) for each in intervals]
        for name in IntervalColumns.model_fields
    }


def _rounded(value: float | None) -> float | None:
    """The value to nine significant digits, half as many bytes as seventeen. The interval is a million times wider."""
    return None if value is None else float(f"{value:.9g}")


def series_document(selection: Selection, found: FoundSeries) -> Json:
    """Steps and points as rows, for CSV, Arrow and the tables of the command line."""
    series, scale = found.series, found.kind.seconds_per_unit
    named: list[tuple[str, Json, int | None, tuple[Point, ...]]] = [("whole", {}, None, series.whole)]
    named += [("row", dict(line.key), line.function_id, line.points) for line in series.lines]
    if series.remainder is not None:
        named.append(("remainder", {}, None, series.remainder))
    return {
        "selection": selection_document(selection, found.kind),
        "totals": totals_document(found.totals, scale),
        "by": list(found.by),
        "step_seconds": series.step_s,
        "seconds_per_unit": scale,
        "steps": [
            {
                "start": format_time(step.start),
                "end": format_time(step.end),
                "partial": step.partial,
                "covered_seconds": step.covered_s,
                "weighed_seconds": step.weighed_s,
                "visits_drawn": step.drawn,
                "visits_waiting": step.waiting,
                "too_few_ingested": step.too_few_ingested,
            }
            for step in series.steps
        ],
        "lines": [
            {
                "role": role,
                "key": key,
                "function_id": function_id,
                "points": [
                    _point(step, point, scale) for step, point in zip(series.steps, points, strict=True)
                ],
            }
            for role, key, function_id, points in named
        ],
        "lines_total": series.lines_total,
    }


_FORMS = forms_of(SeriesRows, "lines.points", as_sent=series_columns)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/series",
        summary="A selection over time",
        description="The selection step by step, as a whole and by its heaviest rows. Visits have the same weights as "
        "in the whole selection, so the points of a line add up to the row of /table. On a day with visits "
        "that still wait to be ingested, the ingested visits of a step represent its waiting ones.",
        response_model=SeriesAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def series(
        *,
        request: Request,
        selection: Selected,
        by: Annotated[
            str,
            Query(
                description="Keys of rows as in /table, separated by commas. Empty: only the whole.",
                examples=["application", "function"],
                max_length=500,
            ),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_LINES, description="Largest number of rows.")] = 5,
        points: Annotated[
            int,
            Query(
                ge=1,
                le=MOST_POINTS,
                description="Largest number of steps. The shortest common step within this number is used.",
            ),
        ] = 100,
        step: Annotated[
            str,
            Query(
                description="Length of a step, for example 5m, 1h, 1d, 1w; it replaces `points`. Steps up to a day begin "
                "at multiples of their length from 1970-01-01 00:00 UTC, longer ones at multiples from a "
                "Monday.",
                max_length=20,
            ),
        ] = "",
        share: Annotated[Literal["self", "total"], Query(description="Rows by self or by totals.")] = "self",
    ) -> Response:
        question = SeriesQuestion(
            selection,
            keys_of(by) if by.strip() else (),
            limit,
            points,
            parse_length(step, parameter="step") if step else 0,
            share == "self",
        )
        return await handler.answer(
            request, _FORMS, lambda: series_document(selection, handler.queries.ask(question))
        )


def _point(step: Step, point: Point, scale: float | None) -> Json:
    estimate = point.estimate
    units = None if estimate is None else estimate.units
    share = None if estimate is None or point.share is None else estimate.share
    return {
        "start": format_time(step.start),
        "units": point.units,
        "seconds": as_seconds(point.units, scale),
        "share": point.share,
        "lo": None if share is None else share.lo,
        "hi": None if share is None else share.hi,
        "core_seconds": interval_document(units, scale),
        "cores": interval_document(units, scale and step.weighed_s and scale / step.weighed_s),
        "low_confidence": estimate is not None and estimate.low_confidence,
        "visits": point.visits,
    }
