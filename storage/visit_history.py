"""Read-only queries of visits' outcomes.

The writers are `storage.visits` and `storage.captures`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import Connection, func, select

from storage.schema import Outcome, campaign, capture, visit


@dataclass(frozen=True, slots=True)
class Ending:
    """How one visit ended."""

    outcome: Outcome
    detail: str
    """A sentence; may be empty for an answered visit."""


@dataclass(frozen=True, slots=True)
class Ingestion:
    """The ingestion progress of a visit's capture."""

    ingested: bool
    attempts: int
    failure: str
    """The last failed attempt's reason; empty: none failed."""
    quarantined: str | None
    """Why it is not retried; None: it is not quarantined."""


def endings(connection: Connection, campaign_id: int, window: int) -> Sequence[Ending]:
    """The campaign's latest `window` visits that ended, latest first: the input of the brake (G4).

    Visits from before the campaign was last started are excluded, as it would stop again at once. So are visits that
    the collector lost, which are not the machines' failures.
    """
    latest = (
        select(visit.c.outcome, visit.c.detail)
        .join(campaign, campaign.c.campaign_id == visit.c.campaign_id)
        .where(
            visit.c.campaign_id == campaign_id,
            visit.c.drawn_at >= campaign.c.state_at,
            visit.c.outcome.not_in([Outcome.DRAWN, Outcome.LOST]),
        )
        .order_by(visit.c.drawn_at.desc())
        .limit(window)
    )
    return [Ending(Outcome(row.outcome), row.detail) for row in connection.execute(latest)]


def outcomes(connection: Connection, campaign_id: int, since: datetime) -> Mapping[Outcome, int]:
    """Number of the campaign's visits drawn from `since` on, by outcome; open ones as `DRAWN`."""
    rows = connection.execute(
        select(visit.c.outcome, func.count().label("visits"))
        .where(visit.c.campaign_id == campaign_id, visit.c.drawn_at >= since)
        .group_by(visit.c.outcome)
    )
    return {Outcome(row.outcome): row.visits for row in rows}


def unfinished(connection: Connection, before: datetime, *, limit: int) -> Sequence[tuple[UUID, date]]:
    """Visits drawn for a moment before `before` without an outcome, with their days; oldest first."""
    rows = connection.execute(
        select(visit.c.visit_id, visit.c.day)
        .where(visit.c.outcome == Outcome.DRAWN, visit.c.drawn_at < before)
        .order_by(visit.c.drawn_at)
        .limit(limit)
    )
    return [(row.visit_id, row.day) for row in rows]


def ingestion(connection: Connection, visit_id: UUID) -> Ingestion | None:
    """The ingestion progress of the visit's capture; None: it has no capture."""
    row = connection.execute(
        select(
            capture.c.ingested, capture.c.wanted, capture.c.attempts, capture.c.failure, capture.c.quarantined
        ).where(capture.c.visit_id == visit_id)
    ).one_or_none()
    if row is None:
        return None
    return Ingestion(row.ingested >= row.wanted, row.attempts, row.failure, row.quarantined)
