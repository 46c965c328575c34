"""Shares of the fleet's work by a label over time: /analysis/composition."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from services.command_line.durations import step_of
from storage.query.answers.composition import CompositionAnswer
from storage.query.models.composition import MOST_STEPS, MOST_VALUES, CompositionQuestion

_FORMS = forms_of(CompositionAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/composition",
        summary="The composition of work, and roll-outs",
        description="Shares by compiler, version, platform, kernel or any label over time. The answer has the times at "
        "which each value reached 10, 50 and 90 % of the work, or disappeared.",
        response_model=described_by(CompositionAnswer),
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
        def ask() -> CompositionAnswer:
            return handler.queries.ask(CompositionQuestion(selection, by, step_of(step), points, limit))

        return await handler.answer(request, _FORMS, ask)
