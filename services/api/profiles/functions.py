"""One function by its id: /functions/{function_id}."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.problems import described
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.function import FunctionAnswer
from storage.query.shapes.function import FunctionQuestion

_FORMS = forms_of(FunctionAnswer)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/functions/{function_id}",
        summary="What is known of a function",
        description="A function by an id from another answer: its names, file, line and binary, the builds of the binary, "
        "and other functions of its name. An id stays valid when the function gets a better name; the "
        "answer then has the id of the function that other answers use.",
        response_model=described_by(FunctionAnswer),
        responses={
            **{status: PROBLEMS[status] for status in (401, 406, 422, 503)},
            **described({404: "No function has this id."}),
        },
        openapi_extra=_FORMS.openapi,
    )
    async def function(
        request: Request,
        function_id: Annotated[
            int, Path(ge=1, lt=1 << 31, description="Id of the function, from another response.")
        ],
    ) -> Response:
        question = FunctionQuestion(function_id)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
