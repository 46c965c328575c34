"""How well a load test represents production: /analysis/load-test."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Base, Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.load_test import LoadTestAnswer
from storage.query.models.load_test import LoadTestQuestion

_MOST_SHOWN = 500


_FORMS = forms_of(LoadTestAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/load-test",
        summary="Compare a load test with production",
        description="The selection is the test, the base is production. The answer compares their distance with the "
        "distance of random parts of production, of as many visits and samples, from the rest of "
        "production. It lists the functions that differ.",
        response_model=described_by(LoadTestAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def load_test(
        request: Request,
        selection: Selected,
        base: Base,
        by: Keys = "function",
        limit: Annotated[
            int, Query(ge=1, le=_MOST_SHOWN, description="Largest number of differing rows.")
        ] = 20,
    ) -> Response:
        def ask() -> LoadTestAnswer:
            return handler.queries.ask(LoadTestQuestion(selection, base, keys_of(by), limit))

        return await handler.answer(request, _FORMS, ask)
