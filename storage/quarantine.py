"""Quarantined captures: listing and retrying.

A capture is quarantined if it cannot be ingested as things are: it is damaged, it killed every worker that tried it, or
a newer program made it. Its blob is kept as long as others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, or_, select

from storage import captures
from storage.schema import capture, machine, visit


@dataclass(frozen=True, slots=True)
class NotIngested:
    """A capture whose newest generation is not ingested."""

    visit_id: UUID
    machine: str
    drawn_at: datetime
    bytes: int
    """Size of its blob."""
    attempts: int
    is_quarantined: bool
    """It is not retried."""
    why: str
    """The last failure or the reason of the quarantine, a sentence; '' if none."""
    newer_format: int | None
    """Its layout, if too new for the program that tried it."""
    archived: bool
    """Its blob exists; without it the capture cannot be retried."""


def list_(connection: Connection, *, limit: int, waiting: bool = False) -> Sequence[NotIngested]:
    """Quarantined captures, the newest first; with `waiting` also captures that are still tried."""
    is_quarantined = capture.c.quarantined.is_not(None)
    rows = connection.execute(
        select(
            capture.c.visit_id,
            machine.c.name,
            visit.c.drawn_at,
            capture.c.bytes,
            capture.c.attempts,
            is_quarantined.label("is_quarantined"),
            func.coalesce(capture.c.quarantined, capture.c.failure).label("why"),
            capture.c.newer_format,
            (capture.c.blob != "").label("archived"),
        )
        .join(visit, visit.c.visit_id == capture.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(or_(is_quarantined, capture.c.ingested < capture.c.wanted) if waiting else is_quarantined)
        .order_by(visit.c.drawn_at.desc(), capture.c.visit_id)
        .limit(limit)
    )
    return [NotIngested(*row) for row in rows]


def retry(connection: Connection, visit_ids: Iterable[UUID] | None = None) -> int:
    """Retry these captures, or all quarantined ones; return the number retried.

    Captures that are not quarantined, or not in the archive any more, are skipped.
    """
    chosen = select(capture.c.visit_id).where(capture.c.quarantined.is_not(None))
    if visit_ids is not None:
        chosen = chosen.where(capture.c.visit_id.in_(list(visit_ids)))
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def retry_readable(connection: Connection, newest_format: int) -> int:
    """Retry captures that were too new for an older program but have at most layout `newest_format`."""
    chosen = select(capture.c.visit_id).where(
        capture.c.quarantined.is_not(None), capture.c.newer_format <= newest_format
    )
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def _retry(connection: Connection, visit_ids: Sequence[UUID]) -> int:
    return captures.want_again(connection, visit_ids) if visit_ids else 0
