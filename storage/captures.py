"""Raw captures: rows of archived blobs, which also define the remaining ingestion work.

PostgreSQL, not the broker, is the source of truth for remaining work. A capture is due while a newer generation than
the ingested one is wanted, unless it is leased, rests after a failure, or is quarantined. Workers lease a capture
first (`storage.leases`). A capture's first ingestion (*fresh*) has priority over ingestion *again* for better symbols.
"""

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from storage.archive import Archive, visit_of
from storage.errors import UnknownVisit, VisitEnded
from storage.schema import Outcome, capture, visit

AGAIN_SHARE: Final = 16
"""One in this many captures is reprocessed for better symbols, even while fresh ones pile up."""
ORPHAN_GRACE = timedelta(hours=24)
"""A younger blob without a row is kept: its collector may still be writing the row."""


@dataclass(frozen=True, slots=True)
class NewCapture:
    """A capture whose blob is archived."""

    visit_id: UUID
    day: date
    """The visit's day."""
    blob: str
    """The blob's key."""
    bytes: int
    raw_bytes: int
    """Decompressed size."""
    sha256: builtins.bytes
    samples: int
    partition: int = 0
    """By `storage.work_partitions.partition_of`."""


@dataclass(frozen=True, slots=True)
class Due:
    """A capture to ingest now."""

    visit_id: UUID
    generation: int
    """The generation to ingest."""
    partition: int
    again: bool
    """An older generation is ingested."""


def record(connection: Connection, new: NewCapture) -> bool:
    """Record that the capture is archived; False: it was recorded before, nothing changed.

    Call it before `storage.visits.finish`, in the same transaction. Then an answered visit always has its capture, and
    the blob of a visit that ended without one stays an orphan. Raises `VisitEnded`, `UnknownVisit`.
    """
    found = connection.execute(
        select(visit.c.outcome, visit.c.day).where(visit.c.visit_id == new.visit_id).with_for_update()
    ).one_or_none()
    if found is None:
        raise UnknownVisit(f"There is no visit {new.visit_id}.")
    if connection.scalar(select(capture.c.visit_id).where(capture.c.visit_id == new.visit_id)) is not None:
        return False
    if found.outcome != Outcome.DRAWN:
        raise VisitEnded(f"Visit {new.visit_id} ended as {found.outcome}; its capture is too late.")
    if found.day != new.day:
        raise ValueError(f"visit {new.visit_id} is from {found.day}, not from {new.day}")
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
            archived_at=func.clock_timestamp(),  # not the transaction's start: see storage.data.progress
        )
    )
    return True


def due(connection: Connection, *, limit: int) -> list[Due]:
    """Captures to ingest now: fresh ones first, within each kind by time in the archive, the oldest first.

    One in `AGAIN_SHARE` is a reprocessing, if there are enough, however many fresh captures wait.
    """
    kinds: list[list[Due]] = []
    for again in (False, True):
        rows = connection.execute(
            select(capture.c.visit_id, capture.c.wanted, capture.c.partition)
            .where(is_due(), is_kind(again=again))
            .order_by(capture.c.archived_at)
            .limit(limit)
        )
        kinds.append([Due(row.visit_id, row.wanted, row.partition, again) for row in rows])
    fresh, others = kinds
    share = min(len(others), max(limit // AGAIN_SHARE, limit - len(fresh)))
    return fresh[: limit - share] + others[:share]


def quarantined(connection: Connection, visit_id: UUID, why: str, *, newer_format: int | None = None) -> None:
    """Quarantine the capture and record why; `want_again` reverses that.

    `newer_format` is the capture's layout if it is too new for this program; a newer program retries the capture
    (`storage.quarantine`).
    """
    connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id)
        .values(quarantined=sentence(why), newer_format=newer_format, leased_until=None)
    )


def want_again(connection: Connection, visit_ids: Iterable[UUID]) -> int:
    """Request ingestion of these captures in a new generation; return the number requested.

    Used for better symbols and for quarantined captures. The attempts are reset. A capture being ingested now is
    ingested once more afterwards. A capture that is not in the archive any more is skipped.
    """
    result = connection.execute(
        update(capture)
        .where(capture.c.visit_id.in_(list(visit_ids)), capture.c.blob != "")
        .values(
            wanted=func.greatest(capture.c.ingested, capture.c.wanted) + 1,
            attempts=0,
            failure="",
            leased_until=None,
            quarantined=None,
            newer_format=None,
        )
    )
    return result.rowcount


@dataclass(frozen=True, slots=True)
class OrphanSweep:
    """The result of an orphan sweep."""

    deleted: tuple[str, ...]
    """Blobs of visits that ended without a capture, and of expired captures that a restored archive has again."""
    unknown: int
    """Number of captures' blobs without a visit in this database; they are kept, as it may be the wrong database."""


def sweep_orphans(
    connection: Connection, archive: Archive, *, grace: timedelta = ORPHAN_GRACE
) -> OrphanSweep:
    """Delete blobs older than `grace` whose visit ended without a capture row or whose capture expired.

    An open visit keeps its blob (`storage.visits.abandon` ends the visit). The visit's row is locked while the blob is
    deleted, so a late `record` fails because the visit ended, and never records a deleted blob.
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
    """Sweep these blobs; return the number without a visit."""
    rows = connection.execute(
        select(visit.c.visit_id, visit.c.outcome, capture.c.blob)
        .join(capture, capture.c.visit_id == visit.c.visit_id, isouter=True)
        .where(visit.c.visit_id.in_(batch))
    ).all()
    for row in rows:
        if (
            row.blob == ""
        ):  # expired with its day and restored from a copy of the archive: it is never ingested again
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


def is_due() -> ColumnElement[bool]:
    """The capture is not leased, does not rest, and has something to ingest."""
    return and_(
        capture.c.ingested < capture.c.wanted,
        capture.c.quarantined.is_(None),
        or_(capture.c.leased_until.is_(None), capture.c.leased_until < func.clock_timestamp()),
    )


def is_kind(*, again: bool) -> ColumnElement[bool]:
    """Fresh or again, in the form of the two partial indexes."""
    return capture.c.ingested > 0 if again else capture.c.ingested == 0


def sentence(why: str) -> str:
    """The stored form of a reason."""
    return why.replace("\0", "")[:2000]
