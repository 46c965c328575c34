"""Kept results of a night: /regressions."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.regressions import RegressionsAnswer
from storage.query.releases.regressions import RegressionsQuestion

_FORMS = forms_of(RegressionsAnswer, "applications")


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/regressions",
        summary="Regressions of a night",
        description="Each application's newest version compared with the one before, or this week with last week, computed "
        "once per UTC day and kept. The route computes nothing: before the first night it states when that is.",
        response_model=described_by(RegressionsAnswer),
        responses=PROBLEMS,
        openapi_extra=_FORMS.openapi,
    )
    async def regressions(
        *,
        request: Request,
        day: Annotated[
            date | None, Query(description="UTC day, ISO 8601. Default: the newest with results.")
        ] = None,
    ) -> Response:
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(RegressionsQuestion(day)))
