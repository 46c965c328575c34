"""One application on two platforms, counter by counter: /analysis/side-by-side."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.side_by_side import SideAnswer
from storage.query.models.side_by_side import SideQuestion

_LONGEST_NAME = 200


_FORMS = forms_of(SideAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/side-by-side",
        summary="Two platforms, counter by counter",
        description="Compares an application, or all machines, on two platforms: cycles per instruction, misses and "
        "similar ratios, with the factor between them. If the two certainly differ at least tenfold, the "
        "events hardly count the same thing.",
        response_model=described_by(SideAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def side_by_side(
        request: Request,
        selection: Selected,
        first: Annotated[
            str, Query(description="A platform, as /labels lists it.", max_length=_LONGEST_NAME)
        ],
        second: Annotated[str, Query(description="Another platform.", max_length=_LONGEST_NAME)],
    ) -> Response:
        question = SideQuestion(selection, first, second)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
