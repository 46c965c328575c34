"""Cells in the database: what they gain is added to what is there, within the caller's transaction.

The caller holds the locks of all days it touches (`locks`), so what is read here stays until it commits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, Connection, Integer, MetaData, Table, and_, delete, select, text, update
from sqlalchemy.sql.elements import ColumnElement

from storage.landing.codec import decode_many, encode_many
from storage.landing.errors import CorruptChunk
from storage.rolling import cell_moments, rows
from storage.rolling.cubes import HOUR, HOURS_A_DAY, WEIGHTED_LEVELS, bucket_days
from storage.rolling.errors import CorruptCell, TookTooMuch
from storage.rolling.merge import KEY, Facts, Gains, sum_facts
from storage.rolling.sorting import Int64
from storage.schema import roll, roll_built

_COUNTS = ("profiles", "visits", "samples", "total")

_wanted = Table(
    "rolling_wanted",
    MetaData(),
    Column("n", Integer),
    *(Column(name, roll.c[name].type) for name in KEY),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)
_changed = Table(
    "rolling_changed",
    MetaData(),
    *(Column(column.name, column.type) for column in roll.c),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)


def add(connection: Connection, gained: Sequence[Gains]) -> int:
    """Add to the cells, making and removing them as needed; the number of cells touched.

    Raises `CorruptCell`, and `TookTooMuch` when a cell would hold less than nothing.
    """
    if not gained:
        return 0
    # Joins by the primary key; without statistics of the temporary tables others would be chosen.
    for setting in ("enable_hashjoin", "enable_mergejoin"):
        connection.execute(text(f"SET LOCAL {setting} = off"))
    for table in (_wanted, _changed):
        table.create(connection)
    for gains in gained:
        _add(connection, gains)
    for table in (_wanted, _changed):
        table.drop(connection)
    return sum(map(len, gained))


def days_of(gained: Sequence[Gains]) -> list[int]:
    """The days (since 1970) of the cells."""
    if not gained:
        return []
    key = np.concatenate([gains.key for gains in gained])
    level, bucket = key[:, KEY.index("level")], key[:, KEY.index("bucket")]
    days: list[int] = np.unique(np.where(level == HOUR, bucket // HOURS_A_DAY, bucket)).tolist()
    return days


def forget_buckets(connection: Connection, days: Sequence[int]) -> None:
    """Say that the weighted buckets with these days do not hold all there is any more."""
    for level in WEIGHTED_LEVELS:
        buckets = sorted({day // bucket_days(level) for day in days})
        connection.execute(
            delete(roll_built).where(roll_built.c.level == level, roll_built.c.bucket.in_(buckets))
        )


def _add(connection: Connection, gains: Gains) -> None:
    there, counts, facts, before = _read(connection, gains)
    counts = {name: counts[name] + getattr(gains, name) for name in _COUNTS}
    n = len(gains)
    merged = sum_facts(
        np.concatenate((gains.facts.cell, facts.cell)),
        np.concatenate((gains.facts.stack, facts.stack)),
        np.concatenate((gains.facts.units, facts.units)),
        n,
    )
    bad = (counts["profiles"] < 0) | (counts["visits"] < 0)
    bad[merged.cell[merged.units < 0]] = True
    blobs: list[bytes] | None = None
    if gains.moments is not None:
        blobs, lacking = cell_moments.add(before, gains.moments)
        bad |= lacking
    if bad.any():
        level, bucket = (gains.key[bad, KEY.index(name)] for name in ("level", "bucket"))
        raise TookTooMuch(np.where(level == HOUR, bucket // HOURS_A_DAY, bucket).tolist())
    left = counts["profiles"] > 0
    for known in (False, True):
        cells = np.flatnonzero(left & (there == known))
        chosen = None if blobs is None else [blobs[i] for i in cells.tolist()]
        values = {name: column[cells] for name, column in counts.items()}
        _write(connection, gains.key[cells], values, merged.of(cells), chosen, there=known)
    _remove(connection, gains.key[~left & there])


def _read(
    connection: Connection, gains: Gains
) -> tuple[npt.NDArray[np.bool_], dict[str, Int64], Facts, list[memoryview | None]]:
    """What there is of the cells: whether they are there, their counts, facts and moments (None without)."""
    n = len(gains)
    rows.write(
        connection, _wanted, {"n": np.arange(n), **{name: gains.key[:, i] for i, name in enumerate(KEY)}}, {}
    )
    joined = _wanted.join(roll, _same_key(_wanted))
    with_moments = [roll.c.moments] if gains.moments is not None else []
    columns, blobs = rows.read(
        connection,
        select(
            _wanted.c.n, *(roll.c[name] for name in _COUNTS), roll.c.facts, roll.c.data, *with_moments
        ).select_from(joined),
    )
    connection.execute(delete(_wanted))
    at = columns["n"]
    there = np.zeros(n, np.bool_)
    there[at] = True
    counts = {name: np.zeros(n, np.int64) for name in _COUNTS}
    for name in _COUNTS:
        counts[name][at] = columns[name]
    try:
        stack, units = decode_many(blobs[0], columns["facts"])
    except CorruptChunk as error:
        raise CorruptCell(f"a cell does not decode: {error}") from error
    # A cell that is not there is the empty one behind the last.
    place = np.full(n, len(at), np.int64)
    place[at] = np.arange(len(at))
    facts = Facts(np.append(columns["facts"], 0), stack.astype(np.int64), units).of(place)
    if gains.moments is None:
        return there, counts, facts, []
    found = [*blobs[1], None]
    return there, counts, facts, [found[i] for i in place.tolist()]


def _write(
    connection: Connection,
    key: npt.NDArray[np.int64],
    values: dict[str, Int64],
    facts: Facts,
    moments: list[bytes] | None,
    *,
    there: bool,
) -> None:
    """Write cells; `there` says whether they take the place of others."""
    if not len(key):
        return
    columns: dict[str, npt.NDArray[Any]] = {name: key[:, i] for i, name in enumerate(KEY)}
    columns |= values | {"facts": facts.count}
    blobs: dict[str, list[bytes]] = {"data": encode_many(facts.stack, facts.units, facts.count)}
    if moments is not None:
        blobs["moments"] = moments
    if not there:
        rows.write(connection, roll, columns, blobs)
        return
    rows.write(connection, roll, columns, blobs, target=_changed.name)
    new = {name: _changed.c[name] for name in (*_COUNTS, "facts", *blobs)}
    connection.execute(update(roll).values(new).where(_same_key(_changed)))
    connection.execute(delete(_changed))


def _remove(connection: Connection, key: npt.NDArray[np.int64]) -> None:
    if not len(key):
        return
    columns = {name: key[:, i] for i, name in enumerate(KEY)}
    rows.write(connection, _wanted, {"n": np.arange(len(key)), **columns}, {})
    connection.execute(delete(roll).where(_same_key(_wanted)))
    connection.execute(delete(_wanted))


def _same_key(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == roll.c[name] for name in KEY))
