"""What goes of symbols, and when.

| what | goes |
|---|---|
| a debug file, a cache, a source | `days` after it was added or used last, unless a capture that is kept has its binary, or a cache was made of it |
| a source that was fetched for a reader | besides, a day after it was added, while they have more than `KEPT_OF_FETCHED` of their room: the oldest |
| a rejected debug file | `REJECTED` after it was rejected |
| a cache that a newer producer has replaced | when nobody used it for `REPLACED` |
| an absence, a failed build | when it is over |
| an ask, an answer | `days` after it was made: then another may be |
| a finished reprocessing | `FINISHED` after its end |
| a blob | with the next sweep, once no row names it |

A part of a binary (what dwz moved out of it, the other halves of split DWARF) has a key of its own, which no
capture has: it stays as long as the binary does, whether anything was built from it by now or not.

As long as raw captures are kept that could be reprocessed, everything that names their binaries is.
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
    symbol_ask,
    symcache,
)
from storage.symbols import symbol_blobs

REJECTED: Final = timedelta(days=30)
REPLACED: Final = timedelta(days=7)
FINISHED: Final = timedelta(days=30)
KEPT_OF_FETCHED: Final = 0.75
"""What is asked for next shall find room, too."""
_ROUND: Final = timedelta(days=1)
"""No younger source goes: its path may be about to be noted, and its blob would stay, in nobody's count."""


@dataclass(frozen=True, slots=True)
class RetainedSymbols:
    """What one round dropped."""

    debug_files: int = 0
    caches: int = 0
    sources: int = 0
    notes: int = 0
    """Absences, asks, answers, reprocessings."""
    blobs: int = 0


def retain_symbols(
    engine: Engine,
    archive: Archive,
    days: int,
    *,
    fetched_bytes: int,
    stopping: Callable[[], bool] = lambda: False,
) -> RetainedSymbols:
    """Drop what is old; rows first, then the blobs that no row names.

    Done again, or by several at once, it does no more. Raises `ArchiveError`, `DatabaseError`; what
    was dropped is.
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
    # A cache whose files are gone counts as rejected: it goes first.
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
    # One that is noted this moment has its path in the same transaction; an older row may be about to get one.
    _drop(
        connection,
        source_file,
        and_(not_(used.exists()), source_file.c.added_at < func.now() - _ROUND),
    )
    return dropped


def _drop_fetched(connection: Connection, most: int) -> int:
    """Of the sources that were fetched the oldest, so that the others have `most` bytes; their paths."""
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
    # Locked first: one that is uploaded or fetched again this moment is looked at once more, and stays.
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
        + _drop(connection, symbol_ask, symbol_ask.c.asked_at < func.now() - timedelta(days=days))
        + _drop(connection, symbol_answer, symbol_answer.c.answered_at < func.now() - timedelta(days=days))
        + _drop(connection, reprocessing, reprocessing.c.finished_at < func.now() - FINISHED)
    )


def _ran(binary_key: Column[str]) -> ColumnElement[bool]:
    """A capture that is kept has the binary."""
    return (
        select(binary.c.binary_id)
        .join(capture_binary, capture_binary.c.binary_id == binary.c.binary_id)
        .where(binary.c.key == binary_key)
        .exists()
    )


def _is_part() -> ColumnElement[bool]:
    """A debug file of a binary that a kept capture has needs this one."""
    whole = debug_file.alias("whole")
    # All needs at once: looking for each file by itself took 146 s for 20,000 of them.
    needs = select(func.unnest(whole.c.needs)).where(_ran(whole.c.binary_key))
    return debug_file.c.binary_key.in_(needs)


def _drop(connection: Connection, table: Table, condition: ColumnElement[bool]) -> int:
    return connection.execute(delete(table).where(condition)).rowcount
