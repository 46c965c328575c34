"""Negative cache of symbol lookups: one worker's failed lookup spares all others the same lookup for a while.

Source: sentry's symbolicator, which caches failures like values; debuginfod clients cache 404s, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from storage.schema import symbol_absence
from storage.symbols.keys import MAX_KEY_BYTES, checked, sentence


@dataclass(frozen=True, slots=True)
class Absence:
    """A failed lookup."""

    binary_key: str
    kind: str
    """Kind of debug file, or `source:` and a path for a source."""
    source: str
    """The server or machine that did not have it."""
    reason: str
    """A sentence."""
    until: datetime
    """No lookup before this moment."""


def source_kind(path: str) -> str:
    """The kind under which the absence of a source file is stored: bounded in length, distinct for each path."""
    kind = f"source:{path}"
    if len(kind.encode("utf-8", "replace")) <= 512:
        return kind
    return f"source:#{blake2b(path.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def note_absence(
    connection: Connection, binary_key: str, kind: str, source: str, *, reason: str, seconds: float
) -> None:
    """Record that `source` has no such file; lookups may skip it for `seconds`."""
    row = {
        "reason": sentence(reason),
        "until": func.clock_timestamp() + timedelta(seconds=seconds),
    }
    connection.execute(
        insert(symbol_absence)
        .values(
            binary_key=checked(binary_key),
            kind=checked(kind, what="kind"),
            source=_bounded(source),
            **row,
        )
        .on_conflict_do_update(index_elements=["binary_key", "kind", "source"], set_=row)
    )


def known_absence(connection: Connection, binary_key: str, kind: str, source: str) -> Absence | None:
    """The unexpired absence at this source; None: none."""
    found = known_absences(connection, binary_key, kinds=[kind], source=source)
    return found[0] if found else None


def known_absences(
    connection: Connection,
    binary_key: str,
    *,
    kinds: Iterable[str] | None = None,
    source: str | None = None,
) -> list[Absence]:
    """All unexpired absences of a binary, of these kinds and this source if given."""
    table = symbol_absence.c
    conditions = [table.binary_key == binary_key, table.until > func.clock_timestamp()]
    if kinds is not None:
        conditions.append(table.kind.in_(list(kinds)))
    if source is not None:
        conditions.append(table.source == _bounded(source))
    rows = connection.execute(select(symbol_absence).where(*conditions).order_by(table.kind, table.source))
    return [Absence(**row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's documented way


def forget_absences(connection: Connection, binary_key: str, *, source: str | None = None) -> int:
    """Allow lookups for this binary again; return the number of absences deleted."""
    conditions = [symbol_absence.c.binary_key == binary_key]
    if source is not None:
        conditions.append(symbol_absence.c.source == _bounded(source))
    return connection.execute(delete(symbol_absence).where(*conditions)).rowcount


def _bounded(source: str) -> str:
    """The source if it fits into the index beside a long key, else a truncated form with a hash."""
    if len(source.encode("utf-8", "replace")) <= MAX_KEY_BYTES - 256:
        return checked(source, what="source")
    return f"{source[:100]}#{blake2b(source.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
