"""Which binaries have better symbols than the captures that hold them were ingested with.

What brings symbols tells a worker at once, but that message may be lost, and its sender or the worker may
die; then the change is found here. It is answered once a reprocessing was begun after it.
"""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, func, literal, or_, select, union_all

from storage.schema import binary, capture, capture_binary, debug_file, reprocessing, symcache
from storage.symbols.kinds import NAMING, Quality
from storage.symbols.reprocessing import LATE

CACHED: Final = timedelta(days=2)
"""Changes older than this are not looked for: what could not be used for so long is not going to be."""


def improved(connection: Connection, *, limit: int) -> list[str]:
    """Keys of binaries whose better symbols nobody has made use of yet, those changed first before others.

    Some symbols turn out to be of no use (a file that is worse than one at hand): those are listed
    until they are `CACHED` no more, so ask rarely about one.
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
    """Whether captures that hold the binary were ingested before its symbols changed, and no reprocessing was begun since."""
    changes = _changes(literal("-infinity"), binary_key)
    news = (
        select(changes.c.at)
        .join(binary, binary.c.key == changes.c.binary_key)
        .where(changes.c.at > _last_asked(changes.c.binary_key), _was_ingested_before(changes.c.at))
    )
    return bool(connection.scalar(select(news.exists())))


def is_answered(connection: Connection, binary_key: str, *, with_lines: bool) -> bool:
    """Whether a reprocessing was begun lately that knew all that was known of the binary's symbols.

    `with_lines`: they bring lines, so that one of captures without names alone is no answer.
    """
    changes = _changes(literal("-infinity"), binary_key, of_known=True)
    newest = func.coalesce(select(func.max(changes.c.at)).scalar_subquery(), literal("-infinity"))
    asked = select(reprocessing.c.reprocessing_id).where(
        reprocessing.c.binary_key == binary_key,
        reprocessing.c.asked_at > func.now() - CACHED,
        reprocessing.c.asked_at >= newest,
    )
    if with_lines:
        asked = asked.where(~reprocessing.c.nameless)
    return bool(connection.scalar(select(asked.exists())))


def _changes(since: ColumnElement[Any], binary_key: str | None = None, *, of_known: bool = False) -> Any:
    """(binary_key, at): files that name functions, and tables built for binaries that are not known in full yet.

    `of_known`: tables of those that are, too.
    """
    files = select(debug_file.c.binary_key, debug_file.c.changed_at.label("at")).where(
        debug_file.c.kind.in_([kind.value for kind in NAMING]),
        debug_file.c.quality > int(Quality.NONE),
        debug_file.c.changed_at > since,
    )
    # Once a capture has been ingested with what was built, whoever ingested it has begun the reprocessing (`note_symbols`).
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
    asked: Select[Any] = select(func.max(reprocessing.c.asked_at)).where(reprocessing.c.binary_key == key)
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
