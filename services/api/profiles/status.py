"""The fleet's coverage and health: /status."""

from importlib.metadata import version

from fastapi import APIRouter, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.status import StatusAnswer
from storage.query.shapes.status import StatusQuestion

_FORMS = forms_of(StatusAnswer)


def add(router: APIRouter, handler: QueryHandler, price_per_core_hour: float | None) -> None:
    """Add the route."""

    @router.get(
        "/status",
        summary="The state of the fleet",
        description="Machines, campaigns, outcomes of visits with the reasons of failures, captures that wait to be "
        "ingested, binaries without symbols, and versions.",
        response_model=described_by(StatusAnswer),
        responses={status: PROBLEMS[status] for status in (401, 406, 422, 503)},
        openapi_extra=_FORMS.openapi,
        tags=["fleet"],
    )
    async def status(request: Request) -> Response:
        question = StatusQuestion(price_per_core_hour, version("fleetprof"))
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
