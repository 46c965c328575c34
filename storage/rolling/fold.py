"""A day that is over gets cells of its own, merged once from those of its hours.

While a day goes on only the cells of its hours are written: those of the day would be read, unpacked and
written again with every batch, each time larger, and say nothing that the hours do not. What lands after
the fold is added to both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import structlog
from sqlalchemy import Connection, Engine, Select, and_, func, select, tuple_

from storage.errors import DatabaseError, StorageError
from storage.landing.codec import decode_many, encode_many
from storage.landing.errors import CorruptChunk
from storage.query.reading import among
from storage.rolling import cell_moments, days, rows
from storage.rolling.batch import numbered
from storage.rolling.cubes import DAY, HOUR, HOURS_A_DAY, day_number, day_of
from storage.rolling.errors import CorruptCell
from storage.rolling.locks import locked_snapshot
from storage.rolling.merge import sum_facts
from storage.rolling.rebuild import rebuild
from storage.rolling.stack_functions import StackFunctions
from storage.schema import roll, stratum

FOLDED_AFTER = timedelta(hours=1)
"""From a day's end on: nearly all of its visits have landed."""
_FACTS = 2_000_000
"""Pairs of cells that are merged in one go, if a single key has no more."""
_CLASSES = (-1, 0, 1, 2, 3)
_SOURCE = ("cube", "campaign_id", "stacks", "sample_type_id")
_COUNTS = ("profiles", "visits", "samples", "total")

_log = structlog.get_logger("rolling")


def fold(engine: Engine, now: datetime) -> tuple[int, ...]:
    """Fold the days (since 1970) that are over at `now`, each in a transaction; those that were.

    Any number may run at once. A day whose cells are damaged is made again from its chunks first; if that
    does not help it stays as it is, and its hours answer for it. Raises `DatabaseError` only.
    """
    end = day_number((now.astimezone(UTC) - FOLDED_AFTER).date())
    with engine.connect() as connection:
        over = sorted(day for day in days.unfolded(connection) if day < end)
    return tuple(day for day in over if _folded_or_mended(engine, day))


def _folded_or_mended(engine: Engine, day: int) -> bool:
    try:
        return _fold(engine, day)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("a day's hours cannot be merged", day=str(day_of(day)), why=str(error))
    try:
        rebuild(engine, day_of(day), stack_functions=StackFunctions())
        return _fold(engine, day)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("a day's hours stay unmerged", day=str(day_of(day)), why=str(error))
        return False


def _fold(engine: Engine, day: int) -> bool:
    """Write the day's cells; False: somebody did."""
    with locked_snapshot(engine, [day]) as connection:
        if day not in days.unfolded(connection):
            return False
        for part in _parts(connection, day):
            _merge(connection, part, day)
        days.set_folded(connection, day)
    return True


@dataclass(frozen=True, slots=True)
class _Part:
    """Hour cells that are merged in one go: all of some applications of a source, stratum and class."""

    source: tuple[int, int, bool, int]
    stratum: int
    utilisation_class: int
    k1: list[int]


def _parts(connection: Connection, day: int) -> Iterator[_Part]:
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    c = roll.c
    for source in _sources(connection):
        keys = (c.stratum_id, c.utilisation_class, c.k1)
        sizes = _of_hours(select(*keys, func.sum(c.facts)), source, day).where(
            among(c.stratum_id, strata), c.utilisation_class.in_(_CLASSES)
        )
        part = _Part(source, 0, 0, [])
        total = 0
        for of, class_, k1, facts in connection.execute(sizes.group_by(*keys).order_by(*keys)).all():
            if part.k1 and ((of, class_) != (part.stratum, part.utilisation_class) or total + facts > _FACTS):
                yield part
                part = _Part(source, of, class_, [])
            if not part.k1:
                part, total = _Part(source, of, class_, []), 0
            part.k1.append(k1)
            total += int(facts)
        if part.k1:
            yield part


def _sources(connection: Connection) -> Iterator[tuple[int, int, bool, int]]:
    """Whatever there are cells of: the index's first columns, a look into it for each."""
    columns = [roll.c[name] for name in _SOURCE]
    statement = select(*columns).order_by(*columns).limit(1)
    found = connection.execute(statement).one_or_none()
    while found is not None:
        yield tuple(found)
        found = connection.execute(statement.where(tuple_(*columns) > tuple_(*found))).one_or_none()


def _of_hours(statement: Select, source: tuple[int, int, bool, int], day: int) -> Select:  # type: ignore[type-arg]  # any
    first = day * HOURS_A_DAY
    return statement.where(
        and_(*(roll.c[name] == value for name, value in zip(_SOURCE, source, strict=True))),
        roll.c.level == HOUR,
        among(roll.c.bucket, list(range(first, first + HOURS_A_DAY))),
    )


def _merge(connection: Connection, part: _Part, day: int) -> None:
    """Write the day's cells of a part. Raises `CorruptCell`."""
    c = roll.c
    statement = select(c.k1, c.k2, *(c[name] for name in _COUNTS), c.facts, c.data, c.moments)
    columns, (data, moments) = rows.read(
        connection,
        _of_hours(statement, part.source, day).where(
            c.stratum_id == part.stratum,
            c.utilisation_class == part.utilisation_class,
            among(c.k1, part.k1),
        ),
    )
    lead, into = numbered(columns["k1"], columns["k2"])
    n = len(lead)
    try:
        stack, units = decode_many(data, columns["facts"])
    except CorruptChunk as error:
        raise CorruptCell(f"a cell does not decode: {error}") from error
    facts = sum_facts(np.repeat(into, columns["facts"]), stack.astype(np.int64), units, n)
    key = (*part.source, part.stratum, part.utilisation_class, DAY, day)
    names = (*_SOURCE, "stratum_id", "utilisation_class", "level", "bucket")
    written = {name: np.full(n, value) for name, value in zip(names, key, strict=True)}
    written |= {name: columns[name][lead] for name in ("k1", "k2")}
    for name in _COUNTS:
        written[name] = np.zeros(n, np.int64)
        np.add.at(written[name], into, columns[name])
    blobs = {
        "data": encode_many(facts.stack, facts.units, facts.count),
        "moments": cell_moments.merged(moments, into, n),
    }
    rows.write(connection, roll, written | {"facts": facts.count}, blobs)
