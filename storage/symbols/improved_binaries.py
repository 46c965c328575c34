"""Finds binaries with better symbols than their captures were ingested with.

New symbols are announced to a worker by a message. If the message is lost, or its sender or the worker dies, this
module finds the change. A change is handled once a reprocessing has begun after it.
"""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, literal, or_, select, union_all

from storage.schema import binary, capture, capture_binary, debug_file, reprocessing, symcache
from storage.symbols.kinds import NAMING, Quality
from storage.symbols.reprocessing import LATE

CACHED: Final = timedelta(days=2)
"""Older changes are ignored: symbols that could not be used for so long are useless."""


def improved(connection: Connection, *, limit: int) -> list[str]:
    """Keys of binaries whose better symbols are still unused, the earliest changes first.

    Some symbols are useless (a file that is worse than an existing one). Their binaries are listed until the change
    is older than `CACHED`, so handle each binary rarely.
    """
    changes = _changes(func.now() - CACHED)
    rows = connection.execute(
        select(changes.c.binary_key)
        .join(binary, binary.c.key == changes.c.binary_key)
        .where(changes.c.at > _last_asked(changes.c.binary_key), _was_ingested_before(changes.c.at))
        .group_by(changes.c.binary_key)
        .order_by(func.min(changes.c.at), changes.c.binary_key)
        .limit(limit)
    )
    return [row.binary_key for row in rows]


def is_improved(connection: Connection, binary_key: str) -> bool:
    """Whether captures of the binary were ingested before its symbols changed, with no reprocessing begun since."""
    changes = _changes(literal("-infinity"), binary_key)
    news = (
        select(changes.c.at)
        .join(binary, binary.c.key == changes.c.binary_key)
        .where(changes.c.at > _last_asked(changes.c.binary_key), _was_ingested_before(changes.c.at))
    )
    return bool(connection.scalar(select(news.exists())))


def is_answered(connection: Connection, binary_key: str, *, with_lines: bool) -> bool:
    """Whether a recent reprocessing began after the last change of the binary's symbols.

    `with_lines`: the symbols bring lines, so a reprocessing of nameless captures alone does not count.
    """
    changes = _changes(literal("-infinity"), binary_key, of_known=True)
    newest = func.coalesce(select(func.max(changes.c.at)).scalar_subquery(), literal("-infinity"))
    asked = select(reprocessing.c.reprocessing_id).where(
        reprocessing.c.binary_key == binary_key,
        reprocessing.c.requested_at > func.now() - CACHED,
        reprocessing.c.requested_at >= newest,
    )
    if with_lines:
        asked = asked.where(~reprocessing.c.nameless)
    return bool(connection.scalar(select(asked.exists())))


def _changes(since: ColumnElement[Any], binary_key: str | None = None, *, of_known: bool = False) -> Any:
    """(binary_key, at): files that name functions, and tables built for binaries that are not fully symbolized.

    `of_known`: include tables of fully symbolized binaries.
    """
    files = select(debug_file.c.binary_key, debug_file.c.changed_at.label("at")).where(
        debug_file.c.kind.in_([kind.value for kind in NAMING]),
        debug_file.c.quality > int(Quality.NONE),
        debug_file.c.changed_at > since,
    )
    # The first capture that is ingested with a new table begins the reprocessing itself (`note_symbols`).
    tables = (
        select(symcache.c.binary_key, symcache.c.built_at.label("at"))
        .join(binary, binary.c.key == symcache.c.binary_key)
        .where(or_(literal(of_known), binary.c.status != "full"), symcache.c.built_at > since)
    )
    if binary_key is not None:
        files = files.where(debug_file.c.binary_key == binary_key)
        tables = tables.where(symcache.c.binary_key == binary_key)
    return union_all(files, tables).subquery("changes")


def _last_asked(key: ColumnElement[str]) -> ColumnElement[Any]:
    asked: Select[Any] = select(func.max(reprocessing.c.requested_at)).where(reprocessing.c.binary_key == key)
    return func.coalesce(asked.correlate_except(reprocessing).scalar_subquery(), literal("-infinity"))


def _was_ingested_before(moment: ColumnElement[Any]) -> ColumnElement[bool]:
    return (
        select(capture_binary.c.visit_id)
        .join(capture, capture.c.visit_id == capture_binary.c.visit_id)
        .where(
            capture_binary.c.binary_id == binary.c.binary_id,
            capture.c.ingested > 0,
            capture.c.ingested_at <= moment + LATE,
            capture.c.blob != "",
        )
        .correlate_except(capture_binary, capture)
        .exists()
    )
