"""Names that contain a text: /search."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.problems import Problem
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.search import SearchAnswer
from storage.query.shapes.search import LONGEST, MOST_HITS, SearchQuestion

_FORMS = forms_of(SearchAnswer, "hits")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/search",
        summary="Search functions, files, binaries, applications and machines",
        description="The names that contain a text, for a search box. All names of the store match, also those without "
        "samples in the selection, and all machines of the inventory. The selection determines shares, "
        "which are estimated from a random part of its visits.",
        response_model=described_by(SearchAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def search(
        *,
        request: Request,
        selection: Selected,
        q: Annotated[
            str,
            Query(
                max_length=LONGEST,
                description="The text, regardless of case. Blanks around it are ignored.",
                examples=["malloc"],
            ),
        ],
        limit: Annotated[
            int, Query(ge=1, le=MOST_HITS, description="Largest number of hits of each kind.")
        ] = 10,
    ) -> Response:
        question = SearchQuestion(selection, text_of(q), limit)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))


def text_of(q: str) -> str:
    """The text without the blanks around it. Raises the Problem 422 for none."""
    text = q.strip()
    if not text:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "The text to search for is empty.",
            kind="bad-parameter",
            hint="Set `q` to a part of a name, for example q=malloc.",
            parameter="q",
        )
    return text
