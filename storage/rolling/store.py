"""Cells in the database: what they gain is added to what is there, within the caller's transaction.

The caller holds the locks of all days it touches (`locks`), so what is read here stays until it commits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, Connection, Integer, MetaData, Table, and_, delete, text
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


def add(connection: Connection, gained: Sequence[Gains]) -> int:
    """Add to the cells, making and removing them as needed; the number of cells touched.

    Raises `CorruptCell`, and `TookTooMuch` when a cell would hold less than nothing.
    """
    if not gained:
        return 0
    # Joins by the primary key; without statistics of the temporary tables others would be chosen.
    for setting in ("enable_hashjoin", "enable_mergejoin"):
        connection.execute(text(f"SET LOCAL {setting} = off"))
    _wanted.create(connection)
    for gains in gained:
        _add(connection, gains)
    _wanted.drop(connection)
    return sum(map(len, gained))


def forget_buckets(connection: Connection, days: Sequence[int]) -> None:
    """Say that the weighted buckets with these days do not hold all there is any more."""
    for level in WEIGHTED_LEVELS:
        buckets = sorted({day // bucket_days(level) for day in days})
        connection.execute(
            delete(roll_built).where(roll_built.c.level == level, roll_built.c.bucket.in_(buckets))
        )


def _add(connection: Connection, gains: Gains) -> None:
    counts, facts, before = _take(connection, gains)
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
    blobs, lacking = cell_moments.add(before, gains.moments)
    bad |= lacking
    if bad.any():
        level, bucket = (gains.key[bad, KEY.index(name)] for name in ("level", "bucket"))
        raise TookTooMuch(np.where(level == HOUR, bucket // HOURS_A_DAY, bucket).tolist())
    left = np.flatnonzero(counts["profiles"] > 0)
    chosen = [blobs[i] for i in left.tolist()]
    values = {name: column[left] for name, column in counts.items()}
    _write(connection, gains.key[left], values, merged.of(left), chosen)


def _take(connection: Connection, gains: Gains) -> tuple[dict[str, Int64], Facts, list[memoryview | None]]:
    """Take what there is of the cells out of the table: their counts, facts and moments (None: not there).

    They are written anew by COPY: an UPDATE makes a new row of each as well, and needs them all in a
    temporary table first, whose pages the server's process keeps.
    """
    n = len(gains)
    rows.write(
        connection, _wanted, {"n": np.arange(n), **{name: gains.key[:, i] for i, name in enumerate(KEY)}}, {}
    )
    names = (*(roll.c[name] for name in _COUNTS), roll.c.facts, roll.c.data, roll.c.moments)
    taken = delete(roll).where(_same_key(_wanted)).returning(_wanted.c.n, *names)
    columns, blobs = rows.read(connection, taken)
    connection.execute(delete(_wanted))
    at = columns["n"]
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
    found = [*blobs[1], None]
    return counts, facts, [found[i] for i in place.tolist()]


def _write(
    connection: Connection,
    key: npt.NDArray[np.int64],
    values: dict[str, Int64],
    facts: Facts,
    moments: list[bytes],
) -> None:
    """Write cells that are not there."""
    if not len(key):
        return
    columns: dict[str, npt.NDArray[Any]] = {name: key[:, i] for i, name in enumerate(KEY)}
    columns |= values | {"facts": facts.count}
    blobs = {"data": encode_many(facts.stack, facts.units, facts.count), "moments": moments}
    rows.write(connection, roll, columns, blobs)


def _same_key(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == roll.c[name] for name in KEY))
