"""Determines which days are due for export, which wait for ingestion, and which stay as they are in the lake.

A day stays as it is if the lake has more of it than PostgreSQL.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from storage import identity
from storage.identity import DatabaseIdentity
from storage.segments import ingested_days, manifest
from storage.segments.errors import LakeDamaged
from storage.segments.location import Lake
from storage.segments.manifest import Ingested, Manifest

PATIENCE = timedelta(days=5)
"""How long after its closing a day's export waits for captures that are not ingested."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The closed days in PostgreSQL whose copy in the lake is missing or outdated."""

    due: tuple[date, ...]
    """Days to export, ascending."""
    kept: Mapping[date, str]
    """Days whose copy is replaced only on request, with the reason; ascending."""
    not_ingested: Mapping[date, str]
    """Days that wait for ingestion, with the reason; ascending."""


def look(connection: Connection, lake: Lake, now: datetime, facts_days: int | None = None) -> Waiting:
    """Determine the days to export. Raises `LakeUnavailable`, `DatabaseError`.

    A day with captures that are not ingested waits for them: an export at once would lack them and would have to be
    repeated. The wait ends after `PATIENCE`, and before the last day on which PostgreSQL has the facts, which it keeps
    for `facts_days` (None: for ever).
    """
    names = identity.known(connection)
    due: list[date] = []
    kept: dict[date, str] = {}
    not_ingested: dict[date, str] = {}
    captures = ingested_days.waiting(connection)
    for day in ingested_days.closed(connection, now):
        there, found = _known(lake, day), ingested_days.ingested(connection, day)
        if there is not None and (why := _better(there, found, names)):
            kept[day] = why
        elif there is None or (there.ingested, there.database) != (found, names.current):
            until = _patience_ends(day, facts_days)
            if day in captures and now < until:
                not_ingested[day] = (
                    f"{captures[day]:,} captures of {day} are not ingested yet. The day is exported "
                    f"when they are, at the latest after {until:%Y-%m-%d %H:%M} UTC."
                )
            else:
                due.append(day)
    return Waiting(tuple(due), kept, not_ingested)


def _patience_ends(day: date, facts_days: int | None) -> datetime:
    closed = ingested_days.closed_at(day)
    until = closed + PATIENCE
    if facts_days is not None:
        last = closed - ingested_days.CLOSED_AFTER + timedelta(days=facts_days - 1)
        until = min(until, last)
    return until


def reason_to_keep(connection: Connection, lake: Lake, day: date) -> str | None:
    """Why the lake's copy of a day must not be replaced; None: it may be, or is missing. Raises `LakeUnavailable`."""
    there = _known(lake, day)
    if there is None:
        return None
    return _better(there, ingested_days.ingested(connection, day), identity.known(connection))


def _known(lake: Lake, day: date) -> Manifest | None:
    try:
        return manifest.read(lake, day)
    except LakeDamaged:
        return None


def _better(there: Manifest, found: Ingested, names: DatabaseIdentity) -> str | None:
    """A database that was restored from an old dump or newly created has less of a day, or other data."""
    if any(kept > have for kept, have in zip(astuple(there.ingested), astuple(found), strict=True)):
        return (
            f"The lake has {there.ingested.captures:,} captures of {there.ingested.ended:,} ended visits of {there.day},"
            f" PostgreSQL {found.captures:,} of {found.ended:,}."
        )
    if there.database != names.current and there.database not in names.former:
        return f"{there.day} in the lake is from another database."
    return None
