"""Which days are to be exported, and which the lake keeps as they are because it has more of them than PostgreSQL."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import date, datetime

from sqlalchemy import Connection

from storage import identity
from storage.identity import DatabaseIdentity
from storage.lake import landed, manifest
from storage.lake.errors import LakeDamaged
from storage.lake.manifest import Landed, Manifest
from storage.lake.place import Lake


@dataclass(frozen=True, slots=True)
class Waiting:
    """The closed days of PostgreSQL that are not in the lake as PostgreSQL has them."""

    due: tuple[date, ...]
    """Ascending: to be exported."""
    kept: Mapping[date, str]
    """Why the lake's copy is not replaced unless somebody says so; ascending."""


def look(connection: Connection, lake: Lake, now: datetime) -> Waiting:
    """What is to be done. Raises `LakeUnavailable`, `DatabaseError`."""
    names = identity.known(connection)
    due: list[date] = []
    kept: dict[date, str] = {}
    for day in landed.closed(connection, now):
        there, found = _known(lake, day), landed.landed(connection, day)
        if there is not None and (why := _better(there, found, names)):
            kept[day] = why
        elif there is None or (there.landed, there.database) != (found, names.current):
            due.append(day)
    return Waiting(tuple(due), kept)


def reason_to_keep(connection: Connection, lake: Lake, day: date) -> str | None:
    """Why the lake's copy of a day must not be replaced; None: it may be, or there is none. Raises `LakeUnavailable`."""
    there = _known(lake, day)
    if there is None:
        return None
    return _better(there, landed.landed(connection, day), identity.known(connection))


def _known(lake: Lake, day: date) -> Manifest | None:
    try:
        return manifest.read(lake, day)
    except LakeDamaged:
        return None


def _better(there: Manifest, found: Landed, names: DatabaseIdentity) -> str | None:
    """A database that was restored from an old dump, or begun anew, has less of a day, or another one's."""
    if any(kept > have for kept, have in zip(astuple(there.landed), astuple(found), strict=True)):
        return (
            f"The lake has {there.landed.captures:,} captures of {there.landed.ended:,} ended visits of {there.day},"
            f" PostgreSQL {found.captures:,} of {found.ended:,}."
        )
    if there.database != names.current and there.database not in names.former:
        return f"The lake's {there.day} is of another database."
    return None
