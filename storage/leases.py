"""Who ingests which capture: leases, that run out, and in which order captures are taken.

A message of the broker says that there is work and names a capture, but captures are taken in the order in which they
came, give or take `AHEAD`: workers look through many queues, and of a backlog one with few captures would be
empty while those of the programs that most machines run are minutes behind. What waits would then be
visits that saw other things than those that ingested, and every share of the fleet would be wrong.
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
"""A fresh capture is not ingested before one that came so much earlier, unless that one has been tried."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to ingest one capture until it runs out."""

    visit_id: UUID
    day: date
    generation: int
    """To be ingested as."""
    blob: str
    sha256: builtins.bytes
    bytes: int
    raw_bytes: int
    attempt: int
    """From 1; names this lease among the capture's."""
    partition: int
    archived_at: datetime
    again: bool
    """An older generation of it is ingested."""


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
"""What a Lease is made of."""


def lease_first(
    connection: Connection, visit_id: UUID, *, seconds: float, attempts_limit: int
) -> Lease | None:
    """Take the capture that a message names, or one whose turn it is; None: nothing waits that may be taken.

    A fresh capture waits while one that came `AHEAD` before it does. So whoever is told of one that is ingested already, or
    in work, takes the oldest: the message that named that one may have been spent on another. Neither is
    done for one that was tried before, and to ingest something again: these have their own time.
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
    """Take the capture for `seconds`; None: nothing to do (ingested, someone's, resting, quarantined).

    Commit before working. The attempt counts at once, so a capture that kills its worker comes to an
    end too: after `attempts_limit` of them it is quarantined with the last failure as the reason.
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
        func.nullif(capture.c.failure, ""), "Every worker that tried it ended without a word."
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
    """Take captures that wait, to ingest them together with the `first`; those longest in the archive first.

    Only such as need the same binaries, are as urgent, came no more than `AHEAD` after the first, and that nobody
    has tried yet: one that failed, or whose worker ended without a word, is tried alone, so that it is found and no
    other suffers with it; a try that the database or the archive did not allow is none (`release`). At most `limit`, at most
    `raw_bytes` of them unpacked, and at most half of those that wait: the others are for other workers,
    and when one waits it is not kept waiting for a whole batch. Never waits for a lock itself.

    While fresh captures fill whole batches, one place of each is for one that is reprocessed: else a
    fleet that is always behind would never see better names.
    """
    waiting = _untried(connection, first, again=first.again, limit=2 * limit)
    until = first.archived_at + AHEAD
    taking = [row for row in waiting if first.again or row.archived_at <= until][: len(waiting) // 2]
    if not first.again and limit > 1 and len(waiting) == 2 * limit:
        # The place of the youngest, not of the oldest: that one would be passed over by batch after batch.
        # Right behind the oldest, so that the bytes of the fresh ones do not keep it out.
        again = _untried(connection, first, again=True, limit=1)
        taking[1:] = (again + taking[1:])[: limit - 1]
    chosen = []
    for row in taking:
        if row.raw_bytes <= raw_bytes:  # one that is too large for the rest is no reason to take none
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
    """Captures that wait, need the same binaries and were never tried; locked."""
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
    """Hold a lease for `seconds` more from now; False: it is not this one's any more."""
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
    """Give a capture back after a failure; it rests 10 s, then twice as long each time, at most an hour.

    With the lease's `attempt` nothing happens when that lease ran out and another worker has it.
    `counts` False: nothing was wrong with the capture (an archive that is away), so this was no attempt.
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
    # now() would be the start of a transaction that may have waited.
    return func.clock_timestamp() + timedelta(seconds=seconds)
