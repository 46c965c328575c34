"""Versions of applications, roll-outs, and verdicts: /releases."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.parameters import Selected
from services.api.profiles.latest_days import of_last_days
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.releases import ReleasesAnswer
from storage.query.releases.releases import MOST_APPLICATIONS, ReleasesQuestion
from storage.query.selections.matchers import APPLICATION, Matcher, Operator
from storage.query.selections.texts import require_text

_FORMS = forms_of(ReleasesAnswer, "applications")
_DAYS = 1
_LONGEST = 500


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/releases",
        summary="Releases and their verdicts",
        description="The versions of each application, the progress of their roll-outs, and the functions that changed "
        "significantly from the version before to the newest one. Without `from`, the last day.",
        response_model=described_by(ReleasesAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def releases(
        *,
        request: Request,
        selection: Selected,
        application: Annotated[
            str, Query(description="Only this application. Empty: all.", max_length=_LONGEST)
        ] = "",
        limit: Annotated[
            int,
            Query(ge=1, le=MOST_APPLICATIONS, description="Largest number of applications, the heaviest."),
        ] = 40,
    ) -> Response:
        chosen = of_last_days(request, selection, _DAYS)
        if application:
            require_text(application, longest=_LONGEST, what="The application", parameter="application")
            matcher = Matcher(APPLICATION, Operator.EQUAL, application, parameter="application")
            chosen = replace(chosen, matchers=(*chosen.matchers, matcher))
        question = ReleasesQuestion(chosen, limit)
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
