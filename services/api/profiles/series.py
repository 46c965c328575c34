"""A selection over time: /series."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.series import SeriesRows
from storage.query.answers.series_columns import SeriesAnswer, series_columns
from storage.query.selections.times import parse_length
from storage.query.shapes.series import MOST_LINES, SeriesQuestion
from storage.query.shapes.steps import MOST_POINTS

_FORMS = forms_of(SeriesRows, "lines.points", as_sent=series_columns)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/series",
        summary="A selection over time",
        description="The selection step by step, as a whole and by its heaviest rows. Visits have the same weights as "
        "in the whole selection, so the points of a line add up to the row of /table. On a day with visits "
        "that still wait to be ingested, the ingested visits of a step represent its waiting ones.",
        response_model=described_by(SeriesAnswer),
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
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
