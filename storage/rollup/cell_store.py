"""Add to cells in the database, within the caller's transaction.

The caller holds the locks of all affected days (`day_locks`), so the cells read here do not change until it commits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Column, Connection, Integer, MetaData, Table, and_, delete, text
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Int64
from storage.blobs.fact_blobs import decode_many, encode_many
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup import cell_moments, cell_rows
from storage.rollup.cubes import HOUR, HOURS_A_DAY
from storage.rollup.errors import TookTooMuch
from storage.rollup.merge import KEY, Facts, Gains, sum_facts
from storage.schema import rollup

_COUNTS = ("profiles", "visits", "samples", "total")
_PAIRS = 1 << 18
"""(function, visit) pairs merged at once. Arrays of two megabytes stay in CPU caches and reuse freed memory. Larger
ones need new pages from the system, and clearing these took as long as all other work together."""

_wanted = Table(
    "rolling_wanted",
    MetaData(),
    Column("n", Integer),
    *(Column(name, rollup.c[name].type) for name in KEY),
    prefixes=["TEMPORARY"],
    postgresql_on_commit="DROP",
)


def add(connection: Connection, gained: Sequence[Gains]) -> int:
    """Add to the cells, inserting and deleting rows as needed; return the number of cells affected.

    Raises `CorruptCell`, and `TookTooMuch` if a cell would become negative.
    """
    if not gained:
        return 0
    # Force joins by the primary key: temporary tables have no statistics, so the planner would choose others.
    for setting in ("enable_hashjoin", "enable_mergejoin"):
        connection.execute(text(f"SET LOCAL {setting} = off"))
    _wanted.create(connection)
    for gains in gained:
        _add(connection, gains)
    _wanted.drop(connection)
    return sum(map(len, gained))


def _add(connection: Connection, gains: Gains) -> None:
    held = _take(connection, gains)
    counts = {name: held.counts[name] + getattr(gains, name) for name in _COUNTS}
    bad = (counts["profiles"] < 0) | (counts["visits"] < 0)
    facts: list[Facts] = []
    moments: list[bytes] = []
    for low, high, gained in gains.moments.portions(_PAIRS):
        merged = _merged(gains.facts.between(low, high), held.facts(low, high))
        blobs, lacking = cell_moments.add(held.moments[low:high], gained)
        lacking[merged.cell[merged.units < 0]] = True
        bad[low:high] |= lacking
        facts.append(merged)
        moments += blobs
    if bad.any():
        level, bucket = (gains.key[bad, KEY.index(name)] for name in ("level", "bucket"))
        raise TookTooMuch(np.where(level == HOUR, bucket // HOURS_A_DAY, bucket).tolist())
    left = np.flatnonzero(counts["profiles"] > 0)
    columns = ([getattr(part, name) for part in facts] for name in Facts.__slots__)
    merged = Facts(*map(np.concatenate, columns)).of(left)
    values = {name: column[left] for name, column in counts.items()}
    _write(connection, gains.key[left], values, merged, [moments[i] for i in left.tolist()])


def _merged(gained: Facts, before: Facts) -> Facts:
    """The sum of both, cell by cell."""
    return sum_facts(
        np.concatenate((gained.cell, before.cell)),
        np.concatenate((gained.stack, before.stack)),
        np.concatenate((gained.units, before.units)),
        len(gained.count),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """The stored content of some cells; empty for a cell that does not exist."""

    counts: dict[str, Int64]
    rows: Int64
    """Pairs of each cell in `data`."""
    data: list[memoryview]
    moments: list[memoryview | None]

    def facts(self, low: int, high: int) -> Facts:
        """The facts of cells [low, high). Raises `CorruptCell`."""
        there = [i for i in range(low, high) if self.moments[i] is not None]
        try:
            stack, units = decode_many([self.data[i] for i in there], self.rows[there])
        except CorruptChunk as error:
            raise CorruptCell(f"cannot decode a cell: {error}") from error
        return Facts(self.rows[low:high], stack.astype(np.int64), units)


def _take(connection: Connection, gains: Gains) -> _Held:
    """Delete the cells' rows and return their content.

    They are rewritten by COPY. An UPDATE also writes a new row for each, and first needs them all in a temporary table,
    whose pages stay in the server process's memory.
    """
    n = len(gains)
    cell_rows.write(
        connection, _wanted, {"n": np.arange(n), **{name: gains.key[:, i] for i, name in enumerate(KEY)}}, {}
    )
    names = (*(rollup.c[name] for name in _COUNTS), rollup.c.facts, rollup.c.data, rollup.c.moments)
    taken = delete(rollup).where(_same_key(_wanted)).returning(_wanted.c.n, *names)
    columns, blobs = cell_rows.read(connection, taken)
    connection.execute(delete(_wanted))
    at = columns["n"]
    counts = {name: np.zeros(n, np.int64) for name in (*_COUNTS, "facts")}
    for name, column in counts.items():
        column[at] = columns[name]
    data: list[memoryview] = [memoryview(b"")] * n
    moments: list[memoryview | None] = [None] * n
    for place, facts, sums in zip(at.tolist(), *blobs, strict=True):
        data[place], moments[place] = facts, sums
    return _Held(counts, counts.pop("facts"), data, moments)


def _write(
    connection: Connection,
    key: npt.NDArray[np.int64],
    values: dict[str, Int64],
    facts: Facts,
    moments: list[bytes],
) -> None:
    """Insert cells that do not exist."""
    if not len(key):
        return
    columns: dict[str, npt.NDArray[Any]] = {name: key[:, i] for i, name in enumerate(KEY)}
    columns |= values | {"facts": facts.count}
    blobs = {"data": encode_many(facts.stack, facts.units, facts.count), "moments": moments}
    cell_rows.write(connection, rollup, columns, blobs)


def _same_key(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == rollup.c[name] for name in KEY))
