"""A one-word rating of a profile's stability: /analysis/stability."""

from fastapi import APIRouter, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.stability import StabilityAnswer
from storage.query.models.stability import StabilityQuestion

_FORMS = forms_of(StabilityAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/stability",
        summary="Reliability of a profile",
        description="One word for the distance of a profile from the fleet's, predicted from its convergence, and "
        "whether its days differ, by their entropy.",
        response_model=described_by(StabilityAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def stability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        def ask() -> StabilityAnswer:
            return handler.queries.ask(StabilityQuestion(selection, keys_of(by)))

        return await handler.answer(request, _FORMS, ask)
