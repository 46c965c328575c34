"""Single visits: /visits."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from services.api.described_answer import described_by
from services.api.formats.documents import forms_of
from services.api.problems import described
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.answers.visits import VisitOutcome, VisitsAnswer
from storage.query.selections.selection import LONGEST_NAME
from storage.query.selections.texts import require_text
from storage.query.selections.times import LONGEST as LONGEST_TIME
from storage.query.selections.times import parse_time
from storage.query.shapes.visits import LONGEST_CURSOR, MOST, VisitsQuestion

_FORMS = forms_of(VisitsAnswer, "visits")
_UNKNOWN = described({404: "No such machine or campaign."})
_TIME = "RFC 3339 with a zone, or relative: `now`, `now-15m`, `now-1h30m` (units s m h d w)."


def add(router: APIRouter, handler: QueryHandler) -> None:
    """Add the route."""

    @router.get(
        "/visits",
        summary="Visits",
        description="What was planned on which machine, what became of it, and whether its capture is ingested; the "
        "newest first. Visits of the current round whose time is still to come are included.",
        response_model=described_by(VisitsAnswer),
        responses={**{status: PROBLEMS[status] for status in (400, 401, 406, 422, 503)}, **_UNKNOWN},
        openapi_extra=_FORMS.openapi,
        tags=["fleet"],
    )
    async def visits(
        *,
        request: Request,
        machine: Annotated[
            str, Query(max_length=256, description="Only visits of the machine of this name.")
        ] = "",
        campaign: Annotated[
            str,
            Query(max_length=LONGEST_NAME, description="Only visits of this campaign. by-hand: on request."),
        ] = "",
        outcome: Annotated[
            list[VisitOutcome],
            Query(
                default_factory=list,
                max_length=16,
                description="Only visits with this outcome; may be repeated. drawn: visits that have not ended.",
            ),
        ],
        visit_id: Annotated[UUID | None, Query(description="Only this visit.")] = None,
        start: Annotated[
            str,
            Query(
                alias="from",
                max_length=LONGEST_TIME,
                description=f"Only visits planned for this time or later. {_TIME}",
                examples=["now-1d"],
            ),
        ] = "",
        to: Annotated[
            str, Query(max_length=LONGEST_TIME, description=f"Only visits planned before this time. {_TIME}")
        ] = "",
        before: Annotated[
            str, Query(max_length=LONGEST_CURSOR, description="`next` of the previous page.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=MOST, description="Largest number of visits.")] = 100,
    ) -> Response:
        now = datetime.now(UTC)
        require_text(machine, longest=256, what="The name of the machine", parameter="machine")
        require_text(campaign, longest=LONGEST_NAME, what="The name of the campaign", parameter="campaign")
        question = VisitsQuestion(
            machine=machine,
            campaign=campaign,
            outcomes=tuple(outcome),
            visit_id=visit_id,
            start=parse_time(start, now=now, parameter="from") if start else None,
            end=parse_time(to, now=now, parameter="to") if to else None,
            before=before,
            limit=limit,
        )
        return await handler.answer(request, _FORMS, lambda: handler.queries.ask(question))
