"""Shares of the fleet's work by a label over time: /analysis/composition."""

from math import isfinite
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from analysis.measured import Measured
from services.api.analysis.envelope import (
    Figure,
    NoAnswerReason,
    because_document,
    figure_document,
    moment,
    step_of,
)
from services.api.analysis.model_answers import OfSamples, of_samples
from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.models.composition import (
    MOST_STEPS,
    MOST_VALUES,
    Change,
    CompositionQuestion,
)
from storage.query.models.composition import CompositionAnswer as FoundComposition
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time


class SharePoint(Answer):
    """A value's share in one step."""

    share: Figure | None = Field(
        description="Share of the selection in each step. Null: no visit in that step."
    )
    low_confidence: bool


class Reached(Answer):
    """The time at which a value reached a level of its share."""

    level: float
    at: str = Field(description="RFC 3339.")
    earliest: str | None = Field(description="Null: possibly reached before the first step.")
    latest: str | None = Field(description="Null: possibly not reached yet.")


class ChangeAnswer(Answer):
    """The appearance or disappearance of a value."""

    reached: list[Reached]
    duration_seconds: float | None = Field(
        description="Time from 10 to 90 %. Null until the value reaches both."
    )
    share: Figure = Field(description="Share in the last step.")
    fell_back: bool = Field(description="The roll-out was reversed, in whole or in part.")


class ValueRow(Answer):
    """One value over time."""

    value: str
    share: float = Field(description="Estimated share of the whole selection, 0…1.")
    points: list[SharePoint] = Field(description="One share for each of `times`.")
    change: ChangeAnswer | None
    because: NoAnswerReason | None = Field(description="The reason why the change is unknown.")


class CompositionAnswer(OfSamples):
    """Shares by one label over time, each with its interval."""

    by: str
    step_seconds: int
    times: list[str] = Field(description="Start times of the steps, RFC 3339.")
    rows: list[ValueRow]
    rows_total: int


_FORMS = forms_of(CompositionAnswer, "rows")


def composition_document(selection: Selection, found: FoundComposition) -> Json:
    """The answer of /analysis/composition."""
    figures = {
        "by": found.by,
        "step_seconds": found.step_s,
        "times": [format_time(time) for time in found.times],
        "rows": [
            {
                "value": row.value,
                "share": row.share,
                "points": [
                    {"share": figure_document(point.share), "low_confidence": point.low_confidence}
                    for point in row.points
                ],
                "change": None if row.change is None else _change(row.change),
                "because": because_document(row.unavailable),
            }
            for row in found.rows
        ],
        "rows_total": found.rows_total,
    }
    return of_samples(selection, found.kind, found.totals, found.unavailable, figures)


def _change(change: Change) -> Json:
    return {
        "reached": [
            {"level": level, "at": moment(round(at.value)), **_bounds(at)} for level, at in change.reached
        ],
        "duration_seconds": change.duration_s,
        "share": figure_document(change.share),
        "fell_back": change.fell_back,
    }


def _bounds(at: Measured) -> Json:
    ends = {"earliest": at.lo, "latest": at.hi}
    return {name: moment(round(end)) if isfinite(end) else None for name, end in ends.items()}


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/composition",
        summary="The composition of work, and roll-outs",
        description="Shares by compiler, version, platform, kernel or any label over time. The answer has the times at "
        "which each value reached 10, 50 and 90 % of the work, or disappeared.",
        response_model=CompositionAnswer,
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def composition(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        by: Annotated[str, Query(description="A label of /labels.", max_length=200)] = "version",
        step: Annotated[
            str,
            Query(
                description="Length of a step: `1h`, `1d`. Empty: chosen from common lengths.", max_length=20
            ),
        ] = "",
        points: Annotated[
            int, Query(ge=2, le=MOST_STEPS, description="Largest number of steps, if no length is given.")
        ] = 60,
        limit: Annotated[int, Query(ge=1, le=MOST_VALUES, description="Largest number of values.")] = 10,
    ) -> Response:
        def document() -> Json:
            question = CompositionQuestion(selection, by, step_of(step), points, limit)
            return composition_document(selection, handler.queries.ask(question))

        return await handler.answer(request, _FORMS, document)
