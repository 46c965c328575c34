"""CPU time by samples against the machines' own accounting: /analysis/cross-check."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.cross_check import CrossCheckAnswer
from storage.query.models.cross_check import CrossCheckQuestion
from storage.query.observed.machines import LABELS

_FORMS = forms_of(CrossCheckAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/cross-check",
        summary="CPU time by samples and by accounting",
        description="Compares CPU time by samples with the busy time that the kernels of the same machines counted. The "
        "two disagree if samples are lost, or if cycles run outside the accounting.",
        response_model=described_by(CrossCheckAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def cross_check(
        request: Request,
        selection: Selected,
        by: Annotated[str, Query(description=f"One of {', '.join(LABELS)}.", max_length=40)] = "datacenter",
    ) -> Response:
        question = CrossCheckQuestion(selection, by)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
