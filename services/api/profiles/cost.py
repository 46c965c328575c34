"""The money that a selection costs: /cost."""

from fastapi import APIRouter, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.cost import CostAnswer
from storage.query.shapes.cost import CostQuestion

_FORMS = forms_of(CostAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler, price_per_core_hour: float | None) -> None:
    """Add the route."""

    @router.get(
        "/cost",
        summary="The money that a selection costs",
        description="Core-hours by platform at the prices of `/prices`, the mean price of the selection's core-hours, and "
        "the platforms without a price.",
        response_model=described_by(CostAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def cost(request: Request, selection: Selected) -> Response:
        question = CostQuestion(selection, price_per_core_hour)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
