"""Two selections compared: /diff."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.formats.forms import Forms
from services.api.formats.stack_profile import Value
from services.api.parameters import Base, Keys, Selected, keys_of
from services.api.profiles.diff_files import FILES, Compared, DiffFile, ValueOfBoth
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.diff import DiffAnswer
from storage.query.shapes.diff import MOST_ROWS, DiffQuestion

_FORMS: Forms[Compared] = Forms((*forms_of(DiffAnswer, "rows").forms, *FILES))


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/diff",
        summary="Compare two selections",
        description="The rows whose share of the selection differs from their share of its base, and the differences "
        "that chance among visits does not explain. Both sides have the same event. Files of stacks contain "
        "the stacks of both sides; values of the base are negative.",
        response_model=described_by(DiffAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def diff(
        *,
        request: Request,
        selection: Selected,
        base: Base,
        by: Keys = "function",
        limit: Annotated[
            int, Query(ge=1, le=MOST_ROWS, description="Largest number of rows to compare.")
        ] = 100,
        share: Annotated[
            Literal["self", "total"], Query(description="Compare shares of self or of totals.")
        ] = "total",
        value: ValueOfBoth = Value.ESTIMATE,
    ) -> Response:
        def answer() -> DiffAnswer:
            question = DiffQuestion(selection, base, keys_of(by), limit=limit, own=share == "self")
            return handler.queries.ask(question)

        stacks = DiffFile(handler.queries.ask, selection, base, "diff", value)
        return await handler.answer(request, _FORMS, Compared(answer, stacks))
