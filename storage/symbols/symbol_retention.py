"""Retention of symbols.

| what | deleted |
|---|---|
| a debug file, a cache, a source | `days` after it was added or last used, unless a stored capture or cache needs it |
| a fetched source | also a day after it was added, oldest first, while all take over `KEPT_OF_FETCHED` of their limit |
| a rejected debug file | `REJECTED` after its rejection |
| a cache that a newer producer has replaced | after `REPLACED` without use |
| an absence, a failed build | when it expires |
| a request, an answer | `days` after it was made; then another may be made |
| a finished reprocessing | `FINISHED` after its end |
| a blob | with the next sweep, once no row references it |

A part of a binary (what dwz moved out of it, the other halves of split DWARF) has a key of its own, which no
capture has. It stays as long as the binary does, whether or not anything was built from it.

While raw captures that could be reprocessed are stored, everything that names their binaries is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Table,
    and_,
    any_,
    delete,
    func,
    not_,
    or_,
    select,
)

from storage.archive import Archive
from storage.schema import (
    binary,
    capture_binary,
    debug_file,
    reprocessing,
    source_file,
    source_path,
    symbol_absence,
    symbol_answer,
    symbol_request,
    symcache,
)
from storage.symbols import symbol_blobs

REJECTED: Final = timedelta(days=30)
REPLACED: Final = timedelta(days=7)
FINISHED: Final = timedelta(days=30)
KEPT_OF_FETCHED: Final = 0.75
"""The rest of the limit stays free for sources that are fetched next."""
_ROUND: Final = timedelta(days=1)
"""Younger sources stay: an uncommitted path may reference one, whose blob would then be stored but not counted."""


@dataclass(frozen=True, slots=True)
class RetainedSymbols:
    """What one retention round deleted."""

    debug_files: int = 0
    caches: int = 0
    sources: int = 0
    notes: int = 0
    """Absences, requests, answers, reprocessings."""
    blobs: int = 0


def retain_symbols(
    engine: Engine,
    archive: Archive,
    days: int,
    *,
    fetched_bytes: int,
    stopping: Callable[[], bool] = lambda: False,
) -> RetainedSymbols:
    """Delete old rows first, then the blobs that no row references.

    Idempotent, and safe to run concurrently. Raises `ArchiveError`, `DatabaseError`; deletions made before that
    persist.
    """
    with engine.begin() as connection:
        caches = _drop_caches(connection, days)
    with engine.begin() as connection:
        files = _drop_debug_files(connection, days)
    with engine.begin() as connection:
        sources = _drop_sources(connection, days)
    with engine.begin() as connection:
        sources += _drop_fetched(connection, int(fetched_bytes * KEPT_OF_FETCHED))
    with engine.begin() as connection:
        notes = _drop_notes(connection, days)
    swept = symbol_blobs.sweep(engine, archive, stopping=stopping)
    return RetainedSymbols(files, caches, sources, notes, swept)


def _drop_debug_files(connection: Connection, days: int) -> int:
    used = func.greatest(debug_file.c.added_at, func.coalesce(debug_file.c.used_at, debug_file.c.added_at))
    rejected = and_(debug_file.c.rejected.is_not(None), debug_file.c.changed_at < func.now() - REJECTED)
    old = and_(used < func.now() - timedelta(days=days), not_(or_(_ran(debug_file.c.binary_key), _is_part())))
    # The cache goes first: without its files it would count as rejected.
    used_in_cache = (
        select(symcache.c.binary_key).where(debug_file.c.sha256 == any_(symcache.c.made_of)).exists()
    )
    return _drop(connection, debug_file, or_(rejected, and_(old, not_(used_in_cache))))


def _drop_caches(connection: Connection, days: int) -> int:
    other = symcache.alias("other")
    newer = select(other.c.binary_key).where(
        other.c.binary_key == symcache.c.binary_key,
        other.c.producer != symcache.c.producer,
        other.c.built_at > symcache.c.built_at,
    )
    used = func.greatest(symcache.c.built_at, func.coalesce(symcache.c.used_at, symcache.c.built_at))
    idle = or_(symcache.c.leased_until.is_(None), symcache.c.leased_until < func.now())
    replaced = and_(newer.exists(), used < func.now() - REPLACED)
    old = and_(used < func.now() - timedelta(days=days), not_(_ran(symcache.c.binary_key)))
    nothing = and_(
        symcache.c.sha256.is_(None),
        or_(symcache.c.failed_until.is_(None), symcache.c.failed_until < func.now() - REPLACED),
        func.coalesce(symcache.c.leased_until, func.now() - 2 * REPLACED) < func.now() - REPLACED,
    )
    return _drop(connection, symcache, and_(idle, or_(replaced, old, nothing)))


def _drop_sources(connection: Connection, days: int) -> int:
    old = and_(
        source_path.c.added_at < func.now() - timedelta(days=days), not_(_ran(source_path.c.binary_key))
    )
    dropped = _drop(connection, source_path, old)
    used = select(source_path.c.sha256).where(source_path.c.sha256 == source_file.c.sha256)
    # A new source gets its path in the same transaction; an older, committed row may be about to get one.
    _drop(
        connection,
        source_file,
        and_(not_(used.exists()), source_file.c.added_at < func.now() - _ROUND),
    )
    return dropped


def _drop_fetched(connection: Connection, most: int) -> int:
    """Delete the oldest fetched sources, so that the rest have at most `most` bytes; return the number of paths."""
    newer = (
        select(
            source_file.c.sha256,
            func.sum(source_file.c.bytes)
            .over(order_by=(source_file.c.added_at.desc(), source_file.c.sha256))
            .label("total"),
        )
        .where(source_file.c.fetched)
        .subquery()
    )
    # Lock first: the condition is then re-evaluated for a source that is uploaded or fetched again concurrently.
    gone = connection.scalars(
        select(source_file.c.sha256)
        .where(
            source_file.c.fetched,
            source_file.c.added_at < func.now() - _ROUND,
            source_file.c.sha256.in_(select(newer.c.sha256).where(newer.c.total > most)),
        )
        .order_by(source_file.c.sha256)
        .with_for_update()
    ).all()
    dropped = _drop(connection, source_path, source_path.c.sha256.in_(gone))
    _drop(connection, source_file, source_file.c.sha256.in_(gone))
    return dropped


def _drop_notes(connection: Connection, days: int) -> int:
    return (
        _drop(connection, symbol_absence, symbol_absence.c.until < func.now())
        + _drop(connection, symbol_request, symbol_request.c.requested_at < func.now() - timedelta(days=days))
        + _drop(connection, symbol_answer, symbol_answer.c.answered_at < func.now() - timedelta(days=days))
        + _drop(connection, reprocessing, reprocessing.c.finished_at < func.now() - FINISHED)
    )


def _ran(binary_key: Column[str]) -> ColumnElement[bool]:
    """A stored capture has the binary."""
    return (
        select(binary.c.binary_id)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .where(binary.c.key == binary_key)
        .exists()
    )


def _is_part() -> ColumnElement[bool]:
    """The debug file completes one whose binary is in a stored capture."""
    whole = debug_file.alias("whole")
    # All needs in one query: a lookup per file took 146 s for 20,000 files.
    needs = select(func.unnest(whole.c.needs)).where(_ran(whole.c.binary_key))
    return debug_file.c.binary_key.in_(needs)


def _drop(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(condition)).rowcount
