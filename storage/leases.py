"""Leases of captures to ingest, and the order of ingestion.

A broker message announces work and names a capture, but captures are ingested in arrival order, give or take `AHEAD`.
Workers poll many queues, so in a backlog the queues of rare programs would be empty while those of the programs that
most machines run are minutes behind. The remaining visits would then differ from the ingested ones, and every share
of the fleet would be biased.
"""

import builtins
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, func, select, update

from storage.captures import is_due, is_kind, sentence
from storage.schema import capture

FIRST_REST_S = 10.0
LONGEST_REST_S = 3600.0
AHEAD: Final = timedelta(seconds=60)
"""A fresh capture waits for untried captures that arrived this much earlier."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to ingest one capture until the lease expires."""

    visit_id: UUID
    day: date
    generation: int
    """The generation to ingest."""
    blob: str
    sha256: builtins.bytes
    bytes: int
    raw_bytes: int
    attempt: int
    """From 1; identifies this lease among the capture's."""
    partition: int
    archived_at: datetime
    again: bool
    """An older generation is ingested."""


_LEASED: Final = (
    capture.c.visit_id,
    capture.c.day,
    capture.c.wanted,
    capture.c.blob,
    capture.c.sha256,
    capture.c.bytes,
    capture.c.raw_bytes,
    capture.c.attempts,
    capture.c.partition,
    capture.c.archived_at,
    capture.c.ingested,
)
"""The columns of a `Lease`."""


def lease_first(
    connection: Connection, visit_id: UUID, *, seconds: float, attempts_limit: int
) -> Lease | None:
    """Lease the capture that a message names, or the next one in order; None: no capture can be leased.

    A fresh capture waits while one that arrived `AHEAD` before it is waiting. If the named capture is already ingested
    or leased, the oldest one is leased, because the message of that one may have been used up for another. Neither
    rule applies to captures that were tried before or that are reprocessed: these have their own schedule.
    """
    c = capture.c
    take = partial(lease, connection, seconds=seconds, attempts_limit=attempts_limit)
    named = connection.execute(
        select(c.archived_at, c.ingested, c.attempts).where(c.visit_id == visit_id, is_due())
    ).one_or_none()
    if named is not None and (named.ingested > 0 or named.attempts > 0):
        return take(visit_id)
    oldest = connection.execute(
        select(c.visit_id, c.archived_at)
        .where(is_due(), is_kind(again=False), c.attempts == 0)
        .order_by(c.archived_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()
    if oldest is None:
        return take(visit_id)
    order = [visit_id, oldest.visit_id]
    if named is None or oldest.archived_at < named.archived_at - AHEAD:
        order.reverse()
    return next((found for one in order if (found := take(one))), None)


def lease(connection: Connection, visit_id: UUID, *, seconds: float, attempts_limit: int) -> Lease | None:
    """Lease the capture for `seconds`; None: nothing to do (ingested, leased, resting, quarantined).

    Commit before working. The attempt counts at once, so that a capture that kills its workers ends, too: after
    `attempts_limit` attempts it is quarantined with the last failure as the reason.
    """
    taken = connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id, is_due(), capture.c.attempts < attempts_limit)
        .values(attempts=capture.c.attempts + 1, leased_until=_from_now(seconds))
        .returning(*_LEASED)
    ).one_or_none()
    if taken is not None:
        return _lease(taken)
    reason = func.coalesce(
        func.nullif(capture.c.failure, ""), "Every worker that tried it ended without reporting a result."
    )
    connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id, is_due(), capture.c.attempts >= attempts_limit)
        .values(quarantined=reason, leased_until=None)
    )
    return None


def lease_waiting(
    connection: Connection, first: Lease, *, seconds: float, limit: int, raw_bytes: int
) -> list[Lease]:
    """Lease waiting captures to ingest together with `first`, the oldest in the archive first.

    Eligible are untried captures that need the same binaries, have the same priority and arrived at most `AHEAD` after
    the first. A capture that failed, or whose worker died, is tried alone, so that it is identified and affects no
    other; an attempt that failed because of the database or the archive does not count (`release`). Takes at most
    `limit` captures, at most `raw_bytes` unpacked, and at most half of those waiting, which leaves the rest to other
    workers and avoids delaying a single capture by a whole batch. Never waits for a lock.

    While fresh captures fill whole batches, one place in each is for a reprocessing: otherwise a fleet that is always
    behind would never get better names.
    """
    waiting = _untried(connection, first, again=first.again, limit=2 * limit)
    until = first.archived_at + AHEAD
    taking = [row for row in waiting if first.again or row.archived_at <= until][: len(waiting) // 2]
    if not first.again and limit > 1 and len(waiting) == 2 * limit:
        # It takes the place of the youngest: the oldest would be passed over by batch after batch.
        # Its position is right behind the oldest, so that the size of the fresh ones does not exclude it.
        again = _untried(connection, first, again=True, limit=1)
        taking[1:] = (again + taking[1:])[: limit - 1]
    chosen = []
    for row in taking:
        if row.raw_bytes <= raw_bytes:  # a too large one is skipped, smaller ones may still fit
            raw_bytes -= row.raw_bytes
            chosen.append(row.visit_id)
    if not chosen:
        return []
    taken = connection.execute(
        update(capture)
        .where(capture.c.visit_id.in_(chosen))
        .values(attempts=1, leased_until=_from_now(seconds))
        .returning(*_LEASED)
    )
    return [_lease(row) for row in taken]


def _untried(
    connection: Connection, first: Lease, *, again: bool, limit: int
) -> list[Row[UUID, int, datetime]]:
    """Waiting, untried captures that need the same binaries; locked."""
    return list(
        connection.execute(
            select(capture.c.visit_id, capture.c.raw_bytes, capture.c.archived_at)
            .where(
                is_due(),
                is_kind(again=again),
                capture.c.partition == first.partition,
                capture.c.attempts == 0,
            )
            .order_by(capture.c.archived_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
    )


def renew(connection: Connection, held: Lease, *, seconds: float) -> bool:
    """Extend a lease to `seconds` from now; False: the lease was lost."""
    renewed = connection.execute(
        update(capture)
        .where(
            capture.c.visit_id == held.visit_id,
            capture.c.attempts == held.attempt,
            capture.c.ingested < held.generation,
            capture.c.leased_until >= func.clock_timestamp(),
        )
        .values(leased_until=_from_now(seconds))
    )
    return renewed.rowcount == 1


def release(
    connection: Connection, visit_id: UUID, *, why: str, attempt: int | None = None, counts: bool = True
) -> None:
    """Return a capture after a failure; it rests 10 s, then twice as long each time, at most an hour.

    With the lease's `attempt`, nothing happens if that lease expired and another worker holds the capture. `counts`
    False: the capture was not at fault (for example the archive was unavailable), so the attempt does not count.
    """
    mine = [] if attempt is None else [capture.c.attempts == attempt]
    doublings = func.least(func.greatest(capture.c.attempts - 1, 0), 30)
    rest_s = func.least(FIRST_REST_S * func.power(2.0, doublings), LONGEST_REST_S)
    connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id, *mine)
        .values(
            attempts=capture.c.attempts - (0 if counts else 1),
            failure=sentence(why),
            leased_until=func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, rest_s),
        )
    )


def _lease(row: Row[Any]) -> Lease:
    return Lease(
        visit_id=row.visit_id,
        day=row.day,
        generation=row.wanted,
        blob=row.blob,
        sha256=bytes(row.sha256),
        bytes=row.bytes,
        raw_bytes=row.raw_bytes,
        attempt=row.attempts,
        partition=row.partition,
        archived_at=row.archived_at,
        again=row.ingested > 0,
    )


def _from_now(seconds: float) -> ColumnElement[datetime]:
    # now() would be the start of a transaction that may have waited for locks.
    return func.clock_timestamp() + timedelta(seconds=seconds)
