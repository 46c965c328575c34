"""Raw captures: the rows that say what lies in the archive and what remains to be ingested.

PostgreSQL, not the broker, is the truth about remaining work: a capture is due while it is wanted in
a newer generation than it is ingested in, unless someone holds its lease, it rests after a failure, or
it was quarantined. Whoever works on one leases it first (`storage.leases`). One that is
ingested for the first time (*fresh*) goes before one that is ingested *again* for better symbols.
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
"""One in so many captures is reprocessed, for better symbols, even while fresh ones pile up."""
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
    """`storage.work_partitions.partition_of` it."""


@dataclass(frozen=True, slots=True)
class Due:
    """A capture to be ingested now."""

    visit_id: UUID
    generation: int
    """As this."""
    partition: int
    again: bool
    """An older generation of it is ingested."""


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
    """Captures to be ingested now: fresh ones first, of either kind those longest in the archive.

    One in `AGAIN_SHARE` is reprocessed, if so many are, however many fresh ones wait.
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
    """Try the capture no more, and say why; `want_again` takes that back.

    `newer_format` is the capture's layout if this program is too old for it: a newer one tries it again
    (`storage.quarantine`).
    """
    connection.execute(
        update(capture)
        .where(capture.c.visit_id == visit_id)
        .values(quarantined=sentence(why), newer_format=newer_format, leased_until=None)
    )


def want_again(connection: Connection, visit_ids: Iterable[UUID]) -> int:
    """Ask for these captures to be ingested in a generation newer than the ingested one; the number asked for.

    For better symbols, and for captures quarantined. Attempts start again; one being ingested right now
    is ingested once more afterwards. One that is not in the archive any more stays as it is.
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
        ):  # dropped with its day, and brought back by a copy of the archive: it never reprocesses
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
    """Nobody works on the capture, it does not rest, and there is something to be ingested."""
    return and_(
        capture.c.ingested < capture.c.wanted,
        capture.c.quarantined.is_(None),
        or_(capture.c.leased_until.is_(None), capture.c.leased_until < func.clock_timestamp()),
    )


def is_kind(*, again: bool) -> ColumnElement[bool]:
    """Fresh or again, as the indexes of both kinds say it."""
    return capture.c.ingested > 0 if again else capture.c.ingested == 0


def sentence(why: str) -> str:
    """As it is kept."""
    return why.replace("\0", "")[:2000]
