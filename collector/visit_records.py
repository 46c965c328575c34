"""Records of visits: before the call, after it, and when a visit is not made.

Every function is one transaction; storage's errors pass through. The archive is written
before the rows, so a row always refers to an existing blob. If a blob's row is missing, the
sweep (`collector.sweep`) adopts the blob or deletes it as an orphan.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto

from sqlalchemy import Engine

from collector.brake import MIN_VISITS, stop_reason
from collector.schedule_round import ScheduledVisit
from collector.visit import ReceivedCapture, VisitResult
from storage import campaigns, captures, visit_history, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Campaign, State
from storage.captures import NewCapture
from storage.errors import ArchiveError, VisitEnded
from storage.schema import BY_HAND, Outcome
from storage.visits import DrawnVisit


class CloseResult(Enum):
    """Result of recording an ended visit."""

    CAPTURE = auto()
    """The visit succeeded, and its capture waits to be ingested."""
    OUTCOME = auto()
    """The visit failed, which is recorded."""
    NOTHING = auto()
    """The visit already had an outcome."""


def open_visit(engine: Engine, scheduled: ScheduledVisit, now: datetime) -> str | None:
    """Record that the call begins now; a sentence if the campaign has stopped or the visit has ended before."""
    with engine.begin() as connection:
        campaign = campaigns.get(connection, scheduled.campaign.name)
        if campaign.state != State.RUNNING and scheduled.visit.round != BY_HAND:
            return f"The campaign was {campaign.state} before the machine was called."
        if not visits.begin(connection, scheduled.visit_id, now):
            return (
                "The visit was ended before the machine was called: by a pause, or because this "
                "collector's lease expired."
            )
        return None


def call_off(engine: Engine, drawn: Sequence[DrawnVisit], why: str) -> None:
    """End visits as lost that the collector did not make or did not finish."""
    with engine.begin() as connection:
        visits.lose(connection, [visit.visit_id for visit in drawn], why)


def close_visit(engine: Engine, archive: Archive, visit: DrawnVisit, visited: VisitResult) -> CloseResult:
    """Archive the received capture and record the visit's outcome.

    A visit fails if its capture cannot be archived.
    """
    if visited.received is None:
        return _close_failed(engine, visit, visited, visited.outcome, visited.detail)
    key = capture_key(visit.day, visit.visit_id)
    try:
        archive.put(key, visited.received.blob)
    except ArchiveError as error:
        return _close_failed(engine, visit, visited, Outcome.FAILED, str(error))
    try:
        with engine.begin() as connection:
            captures.record(connection, _row(visit, key, visited.received))
            ended = visits.finish(
                connection,
                visit.visit_id,
                outcome=Outcome.ANSWERED,
                detail=visited.detail,
                ended_at=visited.ended_at,
                seconds=visited.seconds,
                utilisation=visited.utilisation,
                clock_skew_s=visited.clock_skew_s,
            )
    except VisitEnded:
        return CloseResult.NOTHING
    return CloseResult.CAPTURE if ended else CloseResult.NOTHING


def apply_brake(engine: Engine, campaign: Campaign) -> str | None:
    """Stop the campaign if too many of its latest visits failed; the reason as a sentence, returned once."""
    definition = campaign.definition
    with engine.begin() as connection:
        why = stop_reason(
            visit_history.endings(connection, campaign.campaign_id, definition.failure_window),
            campaign=campaign.name,
            threshold=definition.failure_threshold,
            fewest=min(MIN_VISITS, definition.failure_window),
        )
        if why is None or campaigns.get(connection, campaign.name).state != State.RUNNING:
            return None
        return why if campaigns.set_state(connection, campaign.name, State.STOPPED, why) else None


def _close_failed(
    engine: Engine, visit: DrawnVisit, visited: VisitResult, outcome: Outcome, detail: str
) -> CloseResult:
    with engine.begin() as connection:
        ended = visits.finish(
            connection,
            visit.visit_id,
            outcome=outcome,
            detail=detail,
            ended_at=visited.ended_at,
            utilisation=visited.utilisation,
            clock_skew_s=visited.clock_skew_s,
        )
    return CloseResult.OUTCOME if ended else CloseResult.NOTHING


def _row(visit: DrawnVisit, key: str, received: ReceivedCapture) -> NewCapture:
    return NewCapture(
        visit_id=visit.visit_id,
        day=visit.day,
        blob=key,
        bytes=len(received.blob),
        raw_bytes=received.raw_bytes,
        sha256=received.sha256,
        samples=received.samples,
        partition=received.partition,
    )
