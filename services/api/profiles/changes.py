"""What changed in the fleet: /changes."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected, keys_of
from services.api.profiles.latest_days import of_last_days
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.changes import ChangesAnswer
from storage.query.releases.changes import LABELS, MOST_CHANGES, ChangesQuestion
from storage.query.selections.times import LONGEST, parse_length

_FORMS = forms_of(ChangesAnswer, "changes")
_DAYS = 7


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/changes",
        summary="What changed in the fleet",
        description="First sights of versions, compilers, kernels, platforms and other labels, each with the last visit "
        "before without the value and the share it has now, and marks of deploys. Without `from`, the last 7 days.",
        response_model=described_by(ChangesAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def changes(
        *,
        request: Request,
        selection: Selected,
        labels: Annotated[
            str,
            Query(description="Labels whose first sights are listed, separated by commas.", max_length=500),
        ] = ",".join(LABELS),
        known: Annotated[
            str,
            Query(
                description="Time before the range whose visits are read, too: a value that they saw is not new.",
                max_length=LONGEST,
                examples=["7d", "30d"],
            ),
        ] = "7d",
        limit: Annotated[
            int, Query(ge=1, le=MOST_CHANGES, description="Largest number of changes, the newest.")
        ] = 200,
    ) -> Response:
        question = ChangesQuestion(
            of_last_days(request, selection, _DAYS),
            keys_of(labels),
            parse_length(known, parameter="known"),
            limit,
        )
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
