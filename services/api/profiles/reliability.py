"""Convergence and stability of a profile: /reliability."""

from fastapi import APIRouter, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Keys, Selected, keys_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.reliability import ReliabilityAnswer
from storage.query.shapes.reliability import ReliabilityQuestion

_FORMS = forms_of(ReliabilityAnswer)


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/reliability",
        summary="Reliability of a profile",
        description="Entropy, the distance of two random halves of the visits, and the convergence of the profile with "
        "its samples.",
        response_model=described_by(ReliabilityAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def reliability(request: Request, selection: Selected, by: Keys = "function") -> Response:
        question = ReliabilityQuestion(selection, keys_of(by))
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
