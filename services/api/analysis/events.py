"""The events that determine an application's instructions per cycle: /analysis/events."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.events import EventsAnswer
from storage.query.models.events import EventsQuestion

_FORMS = forms_of(EventsAnswer, "rows")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/analysis/events",
        summary="Events that determine an application's speed",
        description="Gradient-boosted trees predict an application's instructions per cycle from the counted events. "
        "The least important events are removed step by step. The answer also has the machine parameter "
        "that moves the most important events.",
        response_model=described_by(EventsAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def events(
        request: Request,
        selection: Selected,
        target: Annotated[
            str, Query(min_length=1, max_length=500, description="The application to explain.")
        ],
        least_share: Annotated[
            float,
            Query(
                ge=0.5,
                le=1,
                description="Smallest share of a machine's CPU time that the application must have in a visit.",
            ),
        ] = 0.8,
    ) -> Response:
        question = EventsQuestion(selection, target, least_share)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
