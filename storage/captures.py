"""Raw captures: the rows that say what lies in the archive and what remains to be landed.

PostgreSQL, not the broker, is the truth about remaining work: a capture is due while it is wanted in
a newer generation than it is landed in, unless someone holds its lease, it rests after a failure, or
it was set aside. Whoever works on one leases it first, in a short transaction of its own. One that is
landed for the first time (*fresh*) goes before one that is landed *again* for better symbols.
"""

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.archive import Archive, visit_of
from storage.errors import UnknownVisit, VisitEnded
from storage.schema import capture, visit
from storage.visits import Outcome

FIRST_REST_S = 10.0
LONGEST_REST_S = 3600.0
AGAIN_SHARE: Final = 16
"""One in so many captures is landed again, for better symbols, even while fresh ones pile up."""
ORPHAN_GRACE = timedelta(hours=24)
"""A blob without a row is younger than this while its collector may still be writing the row."""


@dataclass(frozen=True, slots=True)
class NewCapture:
    """A capture whose blob is in the archive already."""

    visit_id: UUID
    day: date
    """The visit's."""
    blob: str
    """Its key."""
    bytes: int
    raw_bytes: int
    """After decompression."""
    sha256: builtins.bytes
    samples: int
    partition: int = 0
    """`storage.affinity.partition_of` it."""


@dataclass(frozen=True, slots=True)
class Due:
    """A capture to be landed now."""

    visit_id: UUID
    generation: int
    """As this."""
    partition: int
    again: bool
    """An older generation of it is landed."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to land one capture until it runs out."""

    visit_id: UUID
    day: date
    generation: int
    """To be landed as."""
    blob: str
    sha256: builtins.bytes
    bytes: int
    raw_bytes: int
    attempt: int
    """From 1; names this lease among the capture's."""
    partition: int
    again: bool
    """An older generation of it is landed."""


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
    capture.c.landed,
)
"""What a Lease is made of."""


def record(connection: Connection, new: NewCapture) -> bool:
    """Note that the capture is in the archive; False: it was noted before, nothing changed.

    Call it before `storage.visits.finish`, in the same transaction: then an answered visit always
    has its capture, and a blob whose visit ended without one is an orphan for good. Raises
    `VisitEnded`, `UnknownVisit`.
    """
    found = connection.execute(
        select(visit.c.outcome, visit.c.day).where(visit.c.visit_id == new.visit_id).with_for_update()
    ).one_or_none()
    if found is None:
        raise UnknownVisit(f"There is no visit {new.visit_id}.")
    if connection.scalar(select(capture.c.visit_id).where(capture.c.visit_id == new.visit_id)) is not None:
        return False
    if found.outcome != Outcome.DRAWN:
        raise VisitEnded(f"Visit {new.visit_id} ended as {found.outcome}; its capture comes too late.")
    if found.day != new.day:
        raise ValueError(f"visit {new.visit_id} is of {found.day}, not of {new.day}")
    connection.execute(
        insert(capture).values(
            visit_id=new.visit_id,
            day=new.day,
            blob=new.blob,
            bytes=new.bytes,
            raw_bytes=new.raw_bytes,
            sha256=new.sha256,
            samples=new.samples,
            partition=new.partition,
            archived_at=func.clock_timestamp(),  # not that of the beginning: see storage.data.progress
        )
    )
    return True


def due(connection: Connection, *, limit: int) -> list[Due]:
    """Captures to be landed now: fresh ones first, of either kind those longest in the archive.

    One in `AGAIN_SHARE` is landed again, if so many are, however many fresh ones wait.
    """
    kinds: list[list[Due]] = []
    for again in (False, True):
        rows = connection.execute(
            select(capture.c.visit_id, capture.c.wanted, capture.c.partition)
            .where(_is_due(), _is(again=again))
            .order_by(capture.c.archived_at)
            .limit(limit)
        )
        kinds.append([Due(row.visit_id, row.wanted, row.partition, again) for row in rows])
    fresh, others = kinds
    share = min(len(others), max(limit // AGAIN_SHARE, limit - len(fresh)))
    return fresh[: limit - share] + others[:share]


def lease(connection: Connection, visit_id: UUID, *, seconds: float, attempts_limit: int) -> Lease | None:
    """Take the capture for `seconds`; None: nothing to do (landed, someone's, resting, set aside).

    Commit before working. The attempt counts at once, so a capture that kills its worker comes to an
    end too: after `attempts_limit` of them it is set aside with the last failure as the reason.
    """
    taken = connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id, _is_due(), capture.c.attempts < attempts_limit)
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
        .where(capture.c.visit_id == visit_id, _is_due(), capture.c.attempts >= attempts_limit)
        .values(set_aside=reason, leased_until=None)
    )
    return None


def lease_waiting(
    connection: Connection, first: Lease, *, seconds: float, limit: int, raw_bytes: int
) -> list[Lease]:
    """Take captures that wait, to land them together with the `first`; those longest in the archive first.

    Only such as need the same binaries and are as urgent, and that nobody has tried yet: one that failed, or
    whose worker ended without a word, is tried alone, so that it is found and no other suffers with it; a try
    that the database or the archive did not allow is none (`release`). At most `limit`, at most
    `raw_bytes` of them unpacked, and at most half of those that wait: the others are for other workers,
    and when one waits it is not kept waiting for a whole batch. Never waits for a lock itself.

    While fresh captures fill whole batches, one place of each is for one that is landed again: else a
    fleet that is always behind would never see better names.
    """
    waiting = _untried(connection, first, again=first.again, limit=2 * limit)
    taking = waiting[: len(waiting) // 2]
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


def _untried(connection: Connection, first: Lease, *, again: bool, limit: int) -> list[Row[UUID, int]]:
    """Captures that wait, need the same binaries and were never tried; locked."""
    return list(
        connection.execute(
            select(capture.c.visit_id, capture.c.raw_bytes)
            .where(
                _is_due(),
                _is(again=again),
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
            capture.c.landed < held.generation,
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
            failure=_sentence(why),
            leased_until=func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, rest_s),
        )
    )


def set_aside(connection: Connection, visit_id: UUID, why: str, *, newer_format: int | None = None) -> None:
    """Try the capture no more, and say why; `want_again` takes that back.

    `newer_format` is the capture's layout if this program is too old for it: a newer one tries it again
    (`storage.set_aside`).
    """
    connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id)
        .values(set_aside=_sentence(why), newer_format=newer_format, leased_until=None)
    )


def want_again(connection: Connection, visit_ids: Iterable[UUID]) -> int:
    """Ask for these captures to be landed in a generation newer than the landed one; the number asked for.

    For better symbols, and for captures set aside. Attempts start again; one being landed right now
    is landed once more afterwards. One that is not in the archive any more stays as it is.
    """
    result = connection.execute(
        update(capture)
        .where(capture.c.visit_id.in_(list(visit_ids)), capture.c.blob != "")
        .values(
            wanted=func.greatest(capture.c.landed, capture.c.wanted) + 1,
            attempts=0,
            failure="",
            leased_until=None,
            set_aside=None,
            newer_format=None,
        )
    )
    return result.rowcount


@dataclass(frozen=True, slots=True)
class OrphanSweep:
    """What a sweep of the archive found."""

    deleted: tuple[str, ...]
    """Blobs of visits that ended without a capture, and of captures that expired: a restored archive has them again."""
    unknown: int
    """Captures' blobs whose visit this database never heard of; they are kept: it may be the wrong one."""


def sweep_orphans(
    connection: Connection, archive: Archive, *, grace: timedelta = ORPHAN_GRACE
) -> OrphanSweep:
    """Delete the blobs older than `grace` whose visit ended and has no capture row, or whose capture expired.

    A visit still open keeps its blob (`storage.visits.abandon` ends it), and its row is locked
    while the blob goes, so a late `record` finds the visit ended rather than its blob gone.
    """
    before = datetime.now(UTC) - grace
    archive.discard_unfinished(before)
    deleted: list[str] = []
    unknown = 0
    batch: dict[UUID, str] = {}
    for key, written in archive.keys("captures"):
        visit_id = visit_of(key)
        if visit_id is None or written >= before:
            continue
        batch[visit_id] = key
        if len(batch) == 1000:
            unknown += _sweep_batch(connection, archive, batch, deleted)
            batch = {}
    unknown += _sweep_batch(connection, archive, batch, deleted)
    return OrphanSweep(tuple(deleted), unknown)


def _sweep_batch(connection: Connection, archive: Archive, batch: dict[UUID, str], deleted: list[str]) -> int:
    """Sweep these blobs; the number of those whose visit is not known."""
    rows = connection.execute(
        select(visit.c.visit_id, visit.c.outcome, capture.c.blob)
        .join(capture, capture.c.visit_id == visit.c.visit_id, isouter=True)
        .where(visit.c.visit_id.in_(batch))
    ).all()
    for row in rows:
        if (
            row.blob == ""
        ):  # dropped with its day, and brought back by a copy of the archive: it never lands again
            archive.delete(batch[row.visit_id])
            deleted.append(batch[row.visit_id])
    suspects = [row.visit_id for row in rows if row.blob is None and row.outcome != Outcome.DRAWN]
    for visit_id in sorted(suspects):
        locked = select(visit.c.outcome).where(visit.c.visit_id == visit_id).with_for_update()
        if connection.scalar(locked) is None:
            continue
        if connection.scalar(select(capture.c.visit_id).where(capture.c.visit_id == visit_id)) is None:
            archive.delete(batch[visit_id])
            deleted.append(batch[visit_id])
    return len(batch) - len(rows)


def _is_due() -> ColumnElement[bool]:
    return and_(
        capture.c.landed < capture.c.wanted,
        capture.c.set_aside.is_(None),
        or_(capture.c.leased_until.is_(None), capture.c.leased_until < func.clock_timestamp()),
    )


def _is(*, again: bool) -> ColumnElement[bool]:
    """As the indexes of both kinds say it."""
    return capture.c.landed > 0 if again else capture.c.landed == 0


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
        again=row.landed > 0,
    )


def _from_now(seconds: float) -> ColumnElement[datetime]:
    # now() would be the start of a transaction that may have waited.
    return func.clock_timestamp() + timedelta(seconds=seconds)


def _sentence(why: str) -> str:
    return why.replace("\0", "")[:2000]
