"""Leases of lookup-table builds: at most one worker of the fleet builds a given table at a time.

A build of a large debug file takes minutes and gigabytes. A worker claims it for a limited time in a short
transaction, renews the lease while building, and ends it with a result or a reason. If the worker dies, the
lease expires. A file whose builds keep killing workers is given up after `ATTEMPTS_LIMIT` attempts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    case,
    func,
    not_,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from storage.archive import Archive
from storage.schema import debug_file, symcache
from storage.symbols import caches, symbol_blobs
from storage.symbols.caches import Cache
from storage.symbols.keys import checked, sentence
from storage.symbols.symbol_blobs import StoredBlob

ATTEMPTS_LIMIT: Final = 3
"""Builds of one file that may end without a result before the file is left alone."""
DEATH_REST_S: Final = 24 * 3600.0
DIED: Final = (
    "Every worker that built it ended without reporting a result; it may need more memory than is available."
)


@dataclass(frozen=True, slots=True)
class BuildLease:
    """The right to build one cache until the lease expires."""

    binary_key: str
    producer: str
    source_sha256: bytes | None
    """SHA-256 of the debug file to build from; None: any."""
    token: UUID
    """Unique id of this lease."""
    attempt: int
    """From 1: builds of this file started since the last one that ended."""
    began_at: datetime
    """By the database's clock."""


def claim_build(
    connection: Connection,
    binary_key: str,
    producer: str,
    seconds: float,
    *,
    source: bytes | None = None,
) -> BuildLease | None:
    """Take the build lease for `seconds`; None: already built, leased by another worker, or failed recently.

    With `source`, the SHA-256 of a debug file, only a build of exactly that file counts as built or failed: a
    better file is built at once, while the old cache still serves. Without it a build of any file counts. Commit
    before building.
    """
    token = uuid4()
    values = {
        "lease": token,
        "lease_sha256": source,
        "leased_until": func.clock_timestamp() + timedelta(seconds=seconds),
    }
    same = true() if source is None else symcache.c.source_sha256.is_not_distinct_from(source)
    same_failed = true() if source is None else symcache.c.failed_sha256.is_not_distinct_from(source)
    tried = symcache.c.lease_sha256.is_not_distinct_from(source)
    row = connection.execute(
        insert(symcache)
        .values(
            binary_key=checked(binary_key), producer=checked(producer, what="producer"), attempts=1, **values
        )
        .on_conflict_do_update(
            index_elements=["binary_key", "producer"],
            set_={"attempts": case((tried, symcache.c.attempts + 1), else_=1), **values},
            where=and_(
                or_(symcache.c.leased_until.is_(None), symcache.c.leased_until < func.clock_timestamp()),
                not_(and_(symcache.c.sha256.is_not(None), same, _WHOLE)),
                not_(
                    and_(
                        symcache.c.failed_until.is_not(None),
                        symcache.c.failed_until > func.clock_timestamp(),
                        same_failed,
                    )
                ),
            ),
        )
        .returning(symcache.c.attempts, func.clock_timestamp().label("began_at"))
    ).one_or_none()
    if row is None:
        return None
    lease = BuildLease(binary_key, producer, source, token, row.attempts, row.began_at)
    if row.attempts > ATTEMPTS_LIMIT:
        fail(connection, lease, DIED, rest_s=DEATH_REST_S)
        return None
    return lease


def renew(connection: Connection, lease: BuildLease, *, seconds: float) -> bool:
    """Extend the lease to `seconds` from now; False: the lease was lost, so stop building."""
    return bool(
        connection.execute(
            update(symcache)
            .where(*_mine(lease), symcache.c.leased_until >= func.clock_timestamp())
            .values(leased_until=func.clock_timestamp() + timedelta(seconds=seconds))
        ).rowcount
    )


def finish(
    engine: Engine,
    archive: Archive,
    lease: BuildLease,
    path: Path,
    *,
    made_of: Iterable[bytes] = (),
    cpu_s: float | None = None,
    peak_rss_bytes: int | None = None,
) -> Cache | None:
    """Store the built cache; None: the lease was lost, and the result is discarded.

    `made_of` are the stored files it was built from, by SHA-256. Owns its transactions: blob first, then the row.
    Raises `ArchiveError`, `DatabaseError`.
    """

    def note(connection: Connection, stored: StoredBlob) -> Cache | None:
        done = connection.execute(
            update(symcache)
            .where(*_mine(lease))
            .values(
                source_sha256=lease.source_sha256,
                made_of=sorted(set(made_of)),
                sha256=stored.sha256,
                bytes=stored.bytes,
                raw_bytes=stored.raw_bytes,
                began_at=lease.began_at,
                built_at=func.clock_timestamp(),
                build_cpu_s=cpu_s,
                peak_rss_bytes=peak_rss_bytes,
                used_at=func.now(),
                **_ENDED,
            )
        ).rowcount
        return caches.find(connection, lease.binary_key, lease.producer) if done else None

    return symbol_blobs.store(engine, archive, lambda: symbol_blobs.put_file(archive, path), note)


def fail(connection: Connection, lease: BuildLease, why: str, *, rest_s: float) -> bool:
    """End the build with a reason; the same file is not built again for `rest_s`. False: the lease was lost.

    An earlier cache stays. Call `candidates.reject` too if the file itself is bad.
    """
    return bool(
        connection.execute(
            update(symcache)
            .where(*_mine(lease))
            .values(
                **{
                    **_ENDED,
                    "failure": sentence(why),
                    "failed_sha256": lease.source_sha256,
                    "failed_until": func.clock_timestamp() + timedelta(seconds=rest_s),
                }
            )
        ).rowcount
    )


def refusal(
    connection: Connection, binary_key: str, producer: str, source: bytes
) -> tuple[str, datetime | None] | None:
    """Why exactly this file is not built now, and until when; the time is None if the file was rejected."""
    rejected = connection.scalar(
        select(debug_file.c.rejected).where(
            debug_file.c.binary_key == binary_key, debug_file.c.sha256 == source
        )
    )
    if rejected is not None:
        return f"Its debug file was rejected. {rejected}", None
    failed = connection.execute(
        select(symcache.c.failure, symcache.c.failed_until).where(
            symcache.c.binary_key == binary_key,
            symcache.c.producer == producer,
            symcache.c.failed_sha256 == source,
            symcache.c.failed_until > func.clock_timestamp(),
        )
    ).one_or_none()
    return None if failed is None else (failed.failure, failed.failed_until)


def release(connection: Connection, lease: BuildLease) -> bool:
    """Return the lease unused, as if the build had not begun: for a worker that is shutting down."""
    return bool(
        connection.execute(
            update(symcache)
            .where(*_mine(lease))
            .values(lease=None, leased_until=None, attempts=symcache.c.attempts - 1)
        ).rowcount
    )


_WHOLE: Final = text(
    "NOT EXISTS (SELECT FROM unnest(symcache.made_of) AS part (sha256) WHERE NOT EXISTS"
    " (SELECT FROM debug_file WHERE debug_file.sha256 = part.sha256 AND debug_file.rejected IS NULL))"
)
"""No file that the cache was made of was rejected or removed; otherwise the cache is rebuilt without that file."""

_ENDED: Final[dict[str, Any]] = {
    "lease": None,
    "lease_sha256": None,
    "leased_until": None,
    "attempts": 0,
    "failure": "",
    "failed_sha256": None,
    "failed_until": None,
}


def _mine(lease: BuildLease) -> tuple[ColumnElement[bool], ...]:
    return (
        symcache.c.binary_key == lease.binary_key,
        symcache.c.producer == lease.producer,
        symcache.c.lease == lease.token,
    )
