"""The fleet's coverage and health: /status."""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field

from services.api.answer import Answer, Json
from services.api.formats.documents import forms_of
from services.api.profiles.query_handler import PROBLEMS, QueryHandler
from storage.query.selections.times import format_time
from storage.query.shapes.status import Status, StatusQuestion


class MachinesStatus(Answer):
    """The inventory."""

    enabled: int
    total: int


class CampaignStatus(Answer):
    """A campaign."""

    name: str
    state: Literal["running", "paused", "stopped"]
    why: str = Field(description="The reason for the state, as a sentence; may be empty.")
    since: str
    period_s: float = Field(description="Length of a round.")
    last_round: int = Field(description="Number of the last drawn round. -1 before the first.")
    drawn_share: float = Field(
        description="Part of the planned visits that is drawn now. It is below 1 while captures wait too long to be "
        "ingested."
    )


class VisitFailure(Answer):
    """Visits of the last day with the same outcome, and the same message except for numbers."""

    outcome: str
    detail: str = Field(description="Message of the latest of these visits, a sentence; may be empty.")
    visits: int
    visits_last_hour: int
    machines: int = Field(description="Number of distinct machines.")
    example: str = Field(description="The machine of the latest visit.")
    latest: str = Field(description="Time for which the latest visit was drawn.")


class VisitsStatus(Answer):
    """Outcomes of visits."""

    last_hour: dict[str, int] = Field(
        description="Visits by outcome.", examples=[{"answered": 58, "unreachable": 2}]
    )
    failures: list[VisitFailure] = Field(
        description="The reasons of failed visits in the last day, most frequent first; at most 20 reasons."
    )


class CapturesStatus(Answer):
    """Captures that wait to be ingested."""

    waiting: int = Field(description="Captures to be ingested for the first time.")
    oldest_waiting_s: float | None = Field(description="Null: no capture waits.")
    again: int = Field(description="Captures to be ingested again with better symbols.")
    quarantined: int = Field(description="Captures that failed too often to be tried again.")


class EventStatus(Answer):
    """A sampled event."""

    event: str
    unit: str


class MissingSymbols(Answer):
    """A binary whose code ran without names."""

    binary: str
    path: str
    reason: str = Field(description="The reason why it has no symbols, as a sentence; may be empty.")
    share: float = Field(
        description="Share of the last day's samples with a frame without a name in this binary.", ge=0, le=1
    )


class SymbolsStatus(Answer):
    """Binaries without symbols."""

    missing: list[MissingSymbols]


class StatusAnswer(Answer):
    """The state of the fleet, and its problems."""

    now: str
    machines: MachinesStatus
    campaigns: list[CampaignStatus]
    visits: VisitsStatus
    captures: CapturesStatus
    events: list[EventStatus]
    price_per_core_hour: float | None = Field(
        description="FLEETPROF_PRICE_PER_CORE_HOUR, to convert core-seconds to money. Null: not set."
    )
    latest: str | None = Field(
        description="Time for which the newest ingested visit was drawn. Null before the first."
    )
    symbols: SymbolsStatus


_FORMS = forms_of(StatusAnswer)


def status_document(found: Status, price_per_core_hour: float | None) -> Json:
    """The answer of /status."""
    return {
        "now": format_time(found.now),
        "machines": {"enabled": found.machines_enabled, "total": found.machines_total},
        "campaigns": [
            {
                "name": campaign.name,
                "state": campaign.state,
                "why": campaign.why,
                "since": format_time(campaign.since),
                "period_s": campaign.period_s,
                "last_round": campaign.last_round,
                "drawn_share": campaign.drawn_share,
            }
            for campaign in found.campaigns
        ],
        "visits": {
            "last_hour": found.visits_last_hour,
            "failures": [
                {
                    "outcome": failure.outcome,
                    "detail": failure.detail,
                    "visits": failure.visits,
                    "visits_last_hour": failure.visits_last_hour,
                    "machines": failure.machines,
                    "example": failure.example,
                    "latest": format_time(failure.latest),
                }
                for failure in found.failures
            ],
        },
        "captures": {
            "waiting": found.captures.waiting,
            "oldest_waiting_s": found.captures.oldest_waiting_s,
            "again": found.captures.again,
            "quarantined": found.captures.quarantined,
        },
        "events": [{"event": event, "unit": unit} for event, unit in found.events],
        "price_per_core_hour": price_per_core_hour,
        "latest": None if found.latest is None else format_time(found.latest),
        "symbols": {
            "missing": [
                {
                    "binary": missing.binary,
                    "path": missing.path,
                    "reason": missing.reason,
                    "share": missing.share,
                }
                for missing in found.missing_symbols
            ]
        },
    }


def add(router: APIRouter, handler: QueryHandler, price_per_core_hour: float | None) -> None:
    """Add the route."""

    @router.get(
        "/status",
        summary="The state of the fleet",
        description="Machines, campaigns, outcomes of visits with the reasons of failures, captures that wait to be "
        "ingested, and binaries without symbols.",
        response_model=StatusAnswer,
        responses={status: PROBLEMS[status] for status in (401, 406, 422, 503)},
        openapi_extra=_FORMS.openapi,
        tags=["fleet"],
    )
    async def status(request: Request) -> Response:
        def document() -> Json:
            return status_document(handler.queries.ask(StatusQuestion()), price_per_core_hour)

        return await handler.answer(request, _FORMS, document)
