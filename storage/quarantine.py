"""Captures that were quarantined: which, why, and trying them again.

A capture is quarantined when it can never be ingested as things are: it is damaged, it ended every worker that
tried it, or it was made by a newer program. Its blob stays as long as others do.
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
    """Of its blob."""
    attempts: int
    is_quarantined: bool
    """It is no longer tried."""
    why: str
    """Of the last attempt, or why it is quarantined, a sentence; '' if nothing went wrong yet."""
    newer_format: int | None
    """Its layout, if that was newer than the program that tried it."""
    archived: bool
    """Its blob is there; without it it cannot be tried again."""


def list_(connection: Connection, *, limit: int, waiting: bool = False) -> Sequence[NotIngested]:
    """The captures quarantined, the newest first; with `waiting` those that are still tried, too."""
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
    """Try these captures again, or all that are quarantined; the number that will be.

    One that is not quarantined, or not in the archive any more, stays as it is.
    """
    chosen = select(capture.c.visit_id).where(capture.c.quarantined.is_not(None))
    if visit_ids is not None:
        chosen = chosen.where(capture.c.visit_id.in_(list(visit_ids)))
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def retry_readable(connection: Connection, newest_format: int) -> int:
    """Try again what was too new for an older program and is not for one that reads up to `newest_format`."""
    chosen = select(capture.c.visit_id).where(
        capture.c.quarantined.is_not(None), capture.c.newer_format <= newest_format
    )
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def _retry(connection: Connection, visit_ids: Sequence[UUID]) -> int:
    return captures.want_again(connection, visit_ids) if visit_ids else 0
