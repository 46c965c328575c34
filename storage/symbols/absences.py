"""Symbols that are known not to be somewhere: one worker asks a server, all others take its word for a while.

Source: sentry's symbolicator, which keeps failures like values; debuginfod's clients keep 404s too.
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
    """Something that was not there."""

    binary_key: str
    kind: str
    """Of a debug file; `source:` and a path for a source."""
    source: str
    """Who did not have it."""
    reason: str
    """A sentence."""
    until: datetime
    """Not to be asked again before."""


def source_kind(path: str) -> str:
    """The kind under which the absence of a source file is noted; bounded, distinct for each path."""
    kind = f"source:{path}"
    if len(kind.encode("utf-8", "replace")) <= 512:
        return kind
    return f"source:#{blake2b(path.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def note_absence(
    connection: Connection, binary_key: str, kind: str, source: str, *, reason: str, seconds: float
) -> None:
    """Note that `source` has no such file; nobody need ask it again for `seconds`."""
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
    """What is known of it not being there; None: nothing, or that was too long ago."""
    found = known_absences(connection, binary_key, kinds=[kind], source=source)
    return found[0] if found else None


def known_absences(
    connection: Connection,
    binary_key: str,
    *,
    kinds: Iterable[str] | None = None,
    source: str | None = None,
) -> list[Absence]:
    """Everything that is known not to be there for a binary, of these kinds and source if they are given."""
    table = symbol_absence.c
    conditions = [table.binary_key == binary_key, table.until > func.clock_timestamp()]
    if kinds is not None:
        conditions.append(table.kind.in_(list(kinds)))
    if source is not None:
        conditions.append(table.source == _bounded(source))
    rows = connection.execute(select(symbol_absence).where(*conditions).order_by(table.kind, table.source))
    return [Absence(**row._mapping) for row in rows]  # noqa: SLF001 - SQLAlchemy's documented way


def forget_absences(connection: Connection, binary_key: str, *, source: str | None = None) -> int:
    """Let everybody ask again for this binary; the number of absences forgotten."""
    conditions = [symbol_absence.c.binary_key == binary_key]
    if source is not None:
        conditions.append(symbol_absence.c.source == _bounded(source))
    return connection.execute(delete(symbol_absence).where(*conditions)).rowcount


def _bounded(source: str) -> str:
    """The source, or one as distinct that fits into the index beside a long key."""
    if len(source.encode("utf-8", "replace")) <= MAX_KEY_BYTES - 256:
        return checked(source, what="source")
    return f"{source[:100]}#{blake2b(source.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"
