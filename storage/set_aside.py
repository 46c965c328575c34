"""Captures that were set aside: which, why, and trying them again.

A capture is set aside when it can never be landed as things are: it is damaged, it ended every worker that
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
class Unlanded:
    """A capture whose newest generation is not landed."""

    visit_id: UUID
    machine: str
    drawn_at: datetime
    bytes: int
    """Of its blob."""
    attempts: int
    is_set_aside: bool
    """It is no longer tried."""
    why: str
    """Of the last attempt, or why it is set aside, a sentence; '' if nothing went wrong yet."""
    newer_format: int | None
    """Its layout, if that was newer than the program that tried it."""
    archived: bool
    """Its blob is there; without it it cannot be tried again."""


def list_(connection: Connection, *, limit: int, waiting: bool = False) -> Sequence[Unlanded]:
    """The captures set aside, the newest first; with `waiting` those that are still tried, too."""
    is_set_aside = capture.c.set_aside.is_not(None)
    rows = connection.execute(
        select(
            capture.c.visit_id,
            machine.c.name,
            visit.c.drawn_at,
            capture.c.bytes,
            capture.c.attempts,
            is_set_aside.label("is_set_aside"),
            func.coalesce(capture.c.set_aside, capture.c.failure).label("why"),
            capture.c.newer_format,
            (capture.c.blob != "").label("archived"),
        )
        .join(visit, visit.c.visit_id == capture.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(or_(is_set_aside, capture.c.landed < capture.c.wanted) if waiting else is_set_aside)
        .order_by(visit.c.drawn_at.desc(), capture.c.visit_id)
        .limit(limit)
    )
    return [Unlanded(*row) for row in rows]


def retry(connection: Connection, visit_ids: Iterable[UUID] | None = None) -> int:
    """Try these captures again, or all that are set aside; the number that will be.

    One that is not set aside, or not in the archive any more, stays as it is.
    """
    chosen = select(capture.c.visit_id).where(capture.c.set_aside.is_not(None))
    if visit_ids is not None:
        chosen = chosen.where(capture.c.visit_id.in_(list(visit_ids)))
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def retry_readable(connection: Connection, newest_format: int) -> int:
    """Try again what was too new for an older program and is not for one that reads up to `newest_format`."""
    chosen = select(capture.c.visit_id).where(
        capture.c.set_aside.is_not(None), capture.c.newer_format <= newest_format
    )
    return _retry(connection, connection.scalars(chosen.order_by(capture.c.visit_id)).all())


def _retry(connection: Connection, visit_ids: Sequence[UUID]) -> int:
    return captures.want_again(connection, visit_ids) if visit_ids else 0
