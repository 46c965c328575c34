"""The share of work that a hardware feature would speed up, and its saving: /analysis/feature."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.feature import FeatureAnswer
from storage.query.models.feature import MOST_ROWS, FeatureQuestion
from storage.query.selections.patterns import LONGEST

_FORMS = forms_of(FeatureAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/feature",
        summary="The effect of a hardware feature",
        description="The share of time, or of `event=cycles`, of all functions whose name matches a pattern, with its "
        "interval. The answer also has the share of the whole that a speedup of them saves.",
        response_model=described_by(FeatureAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def feature(
        request: Request,
        selection: Selected,
        functions: Annotated[
            str,
            Query(
                description="An RE2 expression. It matches any part of a function's name.",
                examples=["^(__)?mem(cpy|move|set)"],
                min_length=1,
                max_length=LONGEST,
            ),
        ],
        speedup: Annotated[
            float, Query(ge=1, le=1e6, description="Speedup of the functions, as a factor.")
        ] = 2.0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS, description="Largest number of functions.")] = 20,
    ) -> Response:
        question = FeatureQuestion(selection, functions, speedup, limit)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
