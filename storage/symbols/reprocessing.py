"""Re-ingestion of captures after a binary's symbols improved.

`begin` records the captures that hold the binary. `feed` requests a few of them at a time, the newest first, as
their next generation. So an upload of libc does not queue 100 000 captures at once, and a better upload an hour later
supersedes most of the work before it is done. Ingestion does not depend on this module: a capture is done when it is
ingested in the requested generation.

A worker may be ingesting with the old symbols while `begin` runs. `feed` finds the captures that are ingested within
`LATE` afterwards, and a reprocessing does not end before that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    and_,
    delete,
    func,
    literal,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from storage import captures
from storage.schema import binary, capture, capture_binary, reprocessing, reprocessing_capture
from storage.symbols.keys import checked, sentence

LATE: Final = timedelta(minutes=2)
"""Longer than a worker takes from its last look at symbols to the end of its ingestion."""
OUTSTANDING: Final = 1000
"""Maximum captures requested again and not ingested yet, over all reprocessings."""
_LOCK: Final = 0x666C_7972_6500


@dataclass(frozen=True, slots=True)
class Reprocessing:
    """A reprocessing and its progress."""

    reprocessing_id: int
    binary_key: str
    why: str
    requested_at: datetime
    finished_at: datetime | None
    renamed: int
    """Functions that were renamed in place beforehand."""
    captures: int
    """To be reprocessed."""
    ingested: int
    """Captures that are reprocessed."""
    failed: int
    """Captures that are quarantined, or gone from the archive."""

    @property
    def left(self) -> int:
        """Captures that remain to be ingested."""
        return self.captures - self.ingested - self.failed


def begin(connection: Connection, binary_key: str, *, why: str, nameless: bool, renamed: int = 0) -> int:
    """Request reprocessing of the captures that hold the binary; return the reprocessing's id.

    `nameless`: only captures with a nameless frame in the binary (new names); otherwise all captures that hold it (new
    lines and inlined calls). `renamed` is the number of functions that were already renamed in place. An unfinished
    reprocessing of the same binary ends here; the new one takes over its remaining captures. Raises `BadKey`.
    """
    _lock(connection)
    before = connection.execute(
        select(reprocessing).where(
            reprocessing.c.binary_key == binary_key, reprocessing.c.finished_at.is_(None)
        )
    ).all()
    nameless = nameless and all(row.nameless for row in before)
    id_ = connection.execute(
        insert(reprocessing)
        .values(binary_key=checked(binary_key), why=sentence(why), nameless=nameless, renamed=renamed)
        .returning(reprocessing.c.reprocessing_id)
    ).scalar_one()
    for row in before:
        # Captures that it requested and that are not ingested yet may be in ingestion with the earlier symbols.
        connection.execute(
            delete(reprocessing_capture).where(
                reprocessing_capture.c.reprocessing_id == row.reprocessing_id,
                reprocessing_capture.c.visit_id.in_(_waiting(row.reprocessing_id)),
            )
        )
        _finish(connection, row.reprocessing_id)
    _collect(connection, id_, late=False)
    return int(id_)


def feed(connection: Connection, *, limit: int = OUTSTANDING) -> list[UUID]:
    """Request the next captures while fewer than `limit` are outstanding; return those requested.

    The collector calls this every few seconds. It also ends reprocessings without remaining captures. Commit at once:
    ingestions of these captures block meanwhile.
    """
    _lock(connection)
    room = limit - _outstanding(connection, limit)
    wanted: list[UUID] = []
    if room > 0:
        wanted = list(
            connection.scalars(
                select(reprocessing_capture.c.visit_id)
                .where(reprocessing_capture.c.generation.is_(None))
                .group_by(reprocessing_capture.c.visit_id, reprocessing_capture.c.day)
                .order_by(reprocessing_capture.c.day.desc(), reprocessing_capture.c.visit_id)
                .limit(room)
            )
        )
    if wanted:
        _want(connection, sorted(wanted))
    _end(connection)
    return wanted


def progress(connection: Connection, *, limit: int = 100) -> list[Reprocessing]:
    """Reprocessings with their progress: unfinished ones first, then the latest."""
    return _read(connection, limit=limit)


def latest(connection: Connection, binary_keys: Iterable[str]) -> dict[str, Reprocessing]:
    """The latest reprocessing of each binary that had one."""
    found: dict[str, Reprocessing] = {}
    for one in _read(connection, reprocessing.c.binary_key.in_(list(binary_keys))):
        if one.binary_key not in found or one.reprocessing_id > found[one.binary_key].reprocessing_id:
            found[one.binary_key] = one
    return found


def find(connection: Connection, reprocessing_id: int) -> Reprocessing | None:
    """One reprocessing; None: unknown id, or deleted by retention."""
    found = _read(connection, reprocessing.c.reprocessing_id == reprocessing_id)
    return found[0] if found else None


def _collect(connection: Connection, reprocessing_id: int, *, late: bool) -> int:
    """Record the captures that hold the binary and are not recorded yet; return the number of new ones."""
    conditions: list[ColumnElement[bool]] = [
        reprocessing.c.reprocessing_id == reprocessing_id,
        or_(~reprocessing.c.nameless, capture_binary.c.unresolved > 0),
        capture.c.blob != "",
    ]
    if late:
        conditions.append(capture.c.ingested_at < reprocessing.c.requested_at + LATE)
    found = (
        select(literal(reprocessing_id, Integer), capture_binary.c.visit_id, capture_binary.c.day)
        .select_from(reprocessing)
        .join(binary, binary.c.key == reprocessing.c.binary_key)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .join(capture, capture.c.visit_id == capture_binary.c.visit_id)
        .where(*conditions)
    )
    new = connection.execute(
        insert(reprocessing_capture)
        .from_select(["reprocessing_id", "visit_id", "day"], found)
        .on_conflict_do_nothing()
    ).rowcount
    if new:
        connection.execute(
            update(reprocessing)
            .where(reprocessing.c.reprocessing_id == reprocessing_id)
            .values(captures=reprocessing.c.captures + new)
        )
    return new


def _want(connection: Connection, visit_ids: list[UUID]) -> None:
    # Lock in id order, as ingestions do, to prevent deadlocks.
    connection.execute(
        select(capture.c.visit_id)
        .where(capture.c.visit_id.in_(visit_ids))
        .order_by(capture.c.visit_id)
        .with_for_update(key_share=True)
    )
    captures.want_again(connection, visit_ids)
    generation = select(capture.c.wanted).where(capture.c.visit_id == reprocessing_capture.c.visit_id)
    connection.execute(
        update(reprocessing_capture)
        .where(reprocessing_capture.c.visit_id.in_(visit_ids), reprocessing_capture.c.generation.is_(None))
        .values(generation=func.coalesce(generation.scalar_subquery(), 0))
    )


def _outstanding(connection: Connection, limit: int) -> int:
    """Captures waiting to be reprocessed, counted up to `limit`."""
    some = (
        select(capture.c.visit_id)
        .where(capture.c.ingested > 0, capture.c.ingested < capture.c.wanted, capture.c.quarantined.is_(None))
        .limit(limit)
        .subquery()
    )
    return connection.execute(select(func.count()).select_from(some)).scalar_one()


def _end(connection: Connection) -> None:
    over = connection.scalars(
        select(reprocessing.c.reprocessing_id).where(
            reprocessing.c.finished_at.is_(None), reprocessing.c.requested_at < func.clock_timestamp() - LATE
        )
    ).all()
    for id_ in over:
        if not connection.scalar(select(_waiting(id_).exists())) and not _collect(connection, id_, late=True):
            _finish(connection, id_)


def _finish(connection: Connection, reprocessing_id: int) -> None:
    failed = connection.execute(
        select(func.count())
        .select_from(reprocessing_capture)
        .outerjoin(capture, capture.c.visit_id == reprocessing_capture.c.visit_id)
        .where(reprocessing_capture.c.reprocessing_id == reprocessing_id, _failed())
    ).scalar_one()
    left = connection.execute(
        select(func.count())
        .select_from(reprocessing_capture)
        .where(reprocessing_capture.c.reprocessing_id == reprocessing_id)
    ).scalar_one()
    connection.execute(
        update(reprocessing)
        .where(reprocessing.c.reprocessing_id == reprocessing_id)
        .values(finished_at=func.clock_timestamp(), captures=left, failed=failed)
    )
    connection.execute(
        delete(reprocessing_capture).where(reprocessing_capture.c.reprocessing_id == reprocessing_id)
    )


def _read(
    connection: Connection, *conditions: ColumnElement[bool], limit: int | None = None
) -> list[Reprocessing]:
    counted = (
        select(
            func.count().filter(_ingested()).label("ingested"),
            func.count().filter(_failed()).label("failed"),
        )
        .select_from(reprocessing_capture)
        .outerjoin(capture, capture.c.visit_id == reprocessing_capture.c.visit_id)
        .where(reprocessing_capture.c.reprocessing_id == reprocessing.c.reprocessing_id)
        .lateral("counted")
    )
    rows = connection.execute(
        select(reprocessing, counted.c.ingested, counted.c.failed.label("failing"))
        .join(counted, true())
        .where(*conditions)
        .order_by(reprocessing.c.finished_at.is_not(None), reprocessing.c.reprocessing_id.desc())
        .limit(limit)
    )
    return [_reprocessing(row) for row in rows]


def _reprocessing(row: Row[Any]) -> Reprocessing:
    over = row.finished_at is not None
    return Reprocessing(
        reprocessing_id=row.reprocessing_id,
        binary_key=row.binary_key,
        why=row.why,
        requested_at=row.requested_at,
        finished_at=row.finished_at,
        renamed=row.renamed,
        captures=row.captures,
        ingested=row.captures - row.failed if over else row.ingested,
        failed=row.failed if over else row.failing,
    )


def _ingested() -> ColumnElement[bool]:
    return and_(
        reprocessing_capture.c.generation.is_not(None),
        reprocessing_capture.c.generation > 0,
        capture.c.ingested >= reprocessing_capture.c.generation,
        capture.c.blob != "",
    )


def _failed() -> ColumnElement[bool]:
    """The capture will not be reprocessed: it is quarantined, or its blob or the whole capture is gone."""
    gone = or_(capture.c.visit_id.is_(None), capture.c.blob == "")
    given_up = and_(
        reprocessing_capture.c.generation.is_not(None),
        capture.c.ingested < reprocessing_capture.c.generation,
        capture.c.quarantined.is_not(None),
    )
    return or_(gone, given_up)


def _waiting(reprocessing_id: int) -> Select[UUID]:
    """The reprocessing's captures that remain to be ingested."""
    return (
        select(reprocessing_capture.c.visit_id)
        .outerjoin(capture, capture.c.visit_id == reprocessing_capture.c.visit_id)
        .where(
            reprocessing_capture.c.reprocessing_id == reprocessing_id,
            _failed().is_not(True),
            _ingested().is_not(True),
        )
    )


def _lock(connection: Connection) -> None:
    """Serialize changes to reprocessings."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
