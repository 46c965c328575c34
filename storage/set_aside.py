"""Captures that were set aside: which, why, and trying them again.

A capture is set aside when it can never be landed as things are: it is damaged, it ended every worker that
tried it, or it was made by a newer program. Its blob stays as long as others do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, select

from storage import captures
from storage.schema import capture, machine, visit


@dataclass(frozen=True, slots=True)
class SetAside:
    """A capture that is no longer tried."""

    visit_id: UUID
    machine: str
    drawn_at: datetime
    bytes: int
    """Of its blob."""
    attempts: int
    why: str
    """A sentence."""
    newer_format: int | None
    """Its layout, if that was newer than the program that tried it."""
    archived: bool
    """Its blob is there; without it it cannot be tried again."""


def list_(connection: Connection, *, limit: int) -> Sequence[SetAside]:
    """The captures set aside, the newest first."""
    rows = connection.execute(
        select(
            capture.c.visit_id,
            machine.c.name,
            visit.c.drawn_at,
            capture.c.bytes,
            capture.c.attempts,
            capture.c.set_aside,
            capture.c.newer_format,
            (capture.c.blob != "").label("archived"),
        )
        .join(visit, visit.c.visit_id == capture.c.visit_id)
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(capture.c.set_aside.is_not(None))
        .order_by(visit.c.drawn_at.desc(), capture.c.visit_id)
        .limit(limit)
    )
    return [SetAside(*row) for row in rows]


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
