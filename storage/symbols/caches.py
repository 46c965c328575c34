"""Lookup tables built from debug files: their blobs and the cost of their builds.

There is one row per binary and producer (program, version and format), so that after an upgrade the old tables
still serve workers that are not upgraded yet. A row outlives the debug file it was built from.
"""

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, any_, func, literal, not_, or_, select, update

from storage.archive import Archive
from storage.schema import debug_file, symcache
from storage.symbols import symbol_blobs
from storage.symbols.kinds import FileKind, Quality

TOUCH_EVERY: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Cache:
    """A built lookup table."""

    binary_key: str
    producer: str
    sha256: builtins.bytes
    bytes: int
    """Size of the blob."""
    raw_bytes: int
    source_sha256: builtins.bytes | None
    """SHA-256 of the debug file it was built from; None: not recorded."""
    made_of: tuple[builtins.bytes, ...]
    """Stored files it was built from, by SHA-256: executable, debug file, and companion files."""
    began_at: datetime
    """Files that arrived after this are not in the cache, even if its build ended later."""
    built_at: datetime
    build_cpu_s: float | None
    peak_rss_bytes: int | None


class Standing(Enum):
    """Whether a cache may be used."""

    CURRENT = "nothing better is known"
    SUPERSEDED = "a later debug file is not built yet; this one is used until then"
    REJECTED = "not used: a file that it was built from was rejected"


@dataclass(frozen=True, slots=True)
class BuildState:
    """All columns of a row, for display."""

    binary_key: str
    producer: str
    cache: Cache | None
    failure: str
    """Of the last build; '' if it succeeded."""
    failed_until: datetime | None
    """The same file is not built again before this."""
    building: bool
    """A worker holds the build lease now."""
    used_at: datetime | None


def find(connection: Connection, binary_key: str, producer: str) -> Cache | None:
    """The binary's cache by this producer; None: none was built."""
    return find_many(connection, [binary_key], producer).get(binary_key)


def find_many(connection: Connection, binary_keys: Iterable[str], producer: str) -> dict[str, Cache]:
    """The existing caches of these binaries by this producer, by key."""
    rows = connection.execute(
        select(symcache).where(
            symcache.c.binary_key.in_(list(binary_keys)),
            symcache.c.producer == producer,
            symcache.c.sha256.is_not(None),
        )
    )
    return {row.binary_key: _cache(row) for row in rows}


def states(connection: Connection, binary_key: str) -> list[BuildState]:
    """States of a binary's builds, running and failed ones included, the newest first."""
    return states_of(connection, [binary_key]).get(binary_key, [])


def states_of(connection: Connection, binary_keys: Iterable[str]) -> dict[str, list[BuildState]]:
    """Like `states`, for several binaries, by key."""
    rows = connection.execute(
        select(symcache, (symcache.c.leased_until > func.clock_timestamp()).label("building"))
        .where(symcache.c.binary_key.in_(list(binary_keys)))
        .order_by(symcache.c.built_at.desc().nulls_last(), symcache.c.producer)
    )
    found: dict[str, list[BuildState]] = {}
    for row in rows:
        state = BuildState(
            binary_key=row.binary_key,
            producer=row.producer,
            cache=None if row.sha256 is None else _cache(row),
            failure=row.failure,
            failed_until=row.failed_until,
            building=bool(row.building),
            used_at=row.used_at,
        )
        found.setdefault(row.binary_key, []).append(state)
    return found


def standing(connection: Connection, cache: Cache) -> Standing:
    """Rank of a cache's source among the binary's candidates now."""
    of_binary = debug_file.c.binary_key == cache.binary_key
    is_source = debug_file.c.sha256 == cache.source_sha256
    rejected = select(debug_file.c.sha256).where(of_binary, is_source, debug_file.c.rejected.is_not(None))
    later = select(debug_file.c.sha256).where(
        of_binary,
        or_(
            not_(is_source), func.cardinality(debug_file.c.needs) > 0
        ),  # a missing part may have arrived since
        debug_file.c.kind.in_([FileKind.EXECUTABLE.value, FileKind.DEBUGINFO.value]),
        debug_file.c.quality == int(Quality.DWARF),
        debug_file.c.rejected.is_(None),
        debug_file.c.changed_at > cache.began_at,
    )
    kept = connection.scalars(
        select(debug_file.c.sha256).where(
            debug_file.c.sha256.in_(cache.made_of), debug_file.c.rejected.is_(None)
        )
    )
    if not set(cache.made_of) <= {bytes(sha256) for sha256 in kept}:
        return Standing.REJECTED
    row = connection.execute(select(rejected.exists().label("rejected"), later.exists().label("later"))).one()
    return Standing.REJECTED if row.rejected else Standing.SUPERSEDED if row.later else Standing.CURRENT


def made_of(connection: Connection, sha256: builtins.bytes) -> set[str]:
    """Keys of the binaries with a cache that was built from this stored file."""
    return set(
        connection.scalars(select(symcache.c.binary_key).where(literal(sha256) == any_(symcache.c.made_of)))
    )


def fetch(archive: Archive, cache: Cache, target: Path) -> None:
    """Write the verified cache to `target` atomically; raises like `symbol_blobs.fetch`."""
    symbol_blobs.fetch(archive, cache.sha256, target, limit=cache.raw_bytes)


def touch(connection: Connection, cache: Cache) -> None:
    """Record that the cache is in use; writes at most twice a day."""
    connection.execute(
        update(symcache)
        .where(
            symcache.c.binary_key == cache.binary_key,
            symcache.c.producer == cache.producer,
            or_(symcache.c.used_at.is_(None), symcache.c.used_at < func.now() - TOUCH_EVERY),
        )
        .values(used_at=func.now())
    )


def discard(connection: Connection, cache: Cache) -> bool:
    """Discard a damaged cache, so that it is built again; False: another one has replaced it already."""
    return bool(
        connection.execute(
            update(symcache)
            .where(
                symcache.c.binary_key == cache.binary_key,
                symcache.c.producer == cache.producer,
                symcache.c.sha256 == cache.sha256,
                symcache.c.built_at == cache.built_at,
            )
            .values(
                sha256=None,
                source_sha256=None,
                made_of=[],
                bytes=None,
                raw_bytes=None,
                began_at=None,
                built_at=None,
            )
        ).rowcount
    )


def discard_damaged(engine: Engine, archive: Archive, cache: Cache) -> None:
    """Discard a cache with a damaged blob, and delete the blob.

    A rebuild from the same file has the same content and therefore the same name, so the damaged blob would be
    taken for it. Raises `ArchiveError`, `DatabaseError`.
    """
    with engine.begin() as connection:
        symbol_blobs.hold(connection, cache.sha256)
        discard(connection, cache)
        archive.delete(symbol_blobs.key_of(cache.sha256))


def _cache(row: Row[Any]) -> Cache:
    return Cache(
        binary_key=row.binary_key,
        producer=row.producer,
        sha256=bytes(row.sha256),
        bytes=row.bytes,
        raw_bytes=row.raw_bytes,
        source_sha256=None if row.source_sha256 is None else bytes(row.source_sha256),
        made_of=tuple(bytes(sha256) for sha256 in row.made_of),
        began_at=row.began_at,
        built_at=row.built_at,
        build_cpu_s=row.build_cpu_s,
        peak_rss_bytes=row.peak_rss_bytes,
    )
