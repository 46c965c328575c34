"""Ratios of counters, such as cycles per instruction: /analysis/ratios."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.command_line.durations import step_of
from storage.query.answers.ratios import RatioAnswer
from storage.query.models.ratios import DERIVED, KEYS, MOST_ROWS, RatioQuestion

_FORMS = forms_of(RatioAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/ratios",
        summary="Cycles per instruction, and other ratios of counters",
        description="Ratios of sums over visits (not means of ratios), with their intervals. Machines that cannot count "
        "are not included; `inputs.missing` lists the counters and the reasons.",
        response_model=described_by(RatioAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def ratios(  # noqa: PLR0917 - a query string
        request: Request,
        selection: Selected,
        ratio: Annotated[
            str,
            Query(
                description=f"One of {', '.join(DERIVED)}, or two counters such as `llc-misses/instructions`.",
                max_length=200,
            ),
        ] = "cpi",
        by: Annotated[
            str,
            Query(
                description=f"Comma-separated keys out of {', '.join(KEYS)}. Empty: one row for all.",
                max_length=200,
            ),
        ] = "application",
        step: Annotated[
            str,
            Query(description="Length of a step in time: `1h`, `1d`. Empty: without steps.", max_length=20),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows.")] = 100,
    ) -> Response:
        def ask() -> RatioAnswer:
            keys = keys_of(by) if by else ()
            return handler.queries.ask(RatioQuestion(selection, ratio, keys, step_of(step), limit))

        return await handler.answer(request, _FORMS, ask)
