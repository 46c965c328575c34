"""Read cells for queries, decoded into columns. `connection` is a REPEATABLE READ snapshot of the caller.

Weights belong to (stratum, day, utilisation class), and a raw cell has one of each, so a query weights cells as it
weights visits. Visits that are still in `rollup_queue` are in no cell; the caller adds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Bool, Float, Int64
from storage.blobs.fact_blobs import decode_many
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup import cell_rows, long_moments_codec, moments_codec, unpacked_moments
from storage.rollup.cell_rows import MAX_BYTES, Columns
from storage.rollup.cubes import DAY, HOUR, HOURS_A_DAY, Source, day_of
from storage.rollup.long_moments import Parts
from storage.rollup.long_moments_codec import WeightedMoments
from storage.rollup.moments import Sums
from storage.rollup.time_cover import Cover
from storage.schema import exposure, rollup, rollup_long, stratum
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import among_given
from storage.snapshots.snapshot_cache import cached_per_snapshot

_CLASSES = (-1, 0, 1, 2, 3)
_FACT_BYTES = 48
"""Memory per pair of a cell while a query adds it up."""


class Functions(Enum):
    """How much of the moments by function to read, besides the sums of each cell as a whole."""

    READ = auto()
    LATER = auto()
    """None until `of_functions` selects some: a table shows a hundred of tens of thousands."""
    NONE = auto()


@dataclass(frozen=True, slots=True)
class Cells:
    """Columns over raw cells, hours before days, and over their facts cell by cell."""

    stratum: Int64
    utilisation_class: Int64
    """-1…3."""
    level: Int64
    """`HOUR` or `DAY`."""
    bucket: Int64
    """Hours or days since 1970 UTC."""
    k1: Int64
    k2: Int64
    profiles: Int64
    visits: Int64
    samples: Int64
    total: Int64
    """Units."""
    facts: Int64
    """Pairs of each cell in `stack` and `units`; 0 for all if facts were not read."""
    stack: Int64
    units: Int64
    moments: Sums | None
    """In units; None if not read."""
    unpacked: unpacked_moments.Unpacked
    """The encoded moments, from which `of_functions` decodes."""
    version: Int64
    """Version of each cell's row, which changes with every write; 0 if not read."""

    def __len__(self) -> int:
        return len(self.stratum)

    def of_functions(self, wanted: Bool) -> Sums:
        """The moments of the functions that are `wanted` by id. Raises `CorruptCell`."""
        return self.unpacked.sums(wanted).in_units()

    @property
    def cell(self) -> Int64:
        """The cell of each fact, counted from 0."""
        return np.repeat(np.arange(len(self.facts)), self.facts)

    @property
    def day(self) -> Int64:
        """Days since 1970 UTC."""
        return np.where(self.level == HOUR, self.bucket // HOURS_A_DAY, self.bucket)


@dataclass(frozen=True, slots=True)
class WeightedCells:
    """Columns over cells of buckets of many days, and over their facts cell by cell."""

    level: Int64
    bucket: Int64
    k1: Int64
    k2: Int64
    profiles: Int64
    visits: Int64
    samples: Int64
    total: Int64
    """Observed units."""
    weighted_total: Float
    """Estimated units of the fleet."""
    facts: Int64
    stack: Int64
    units: Int64
    """Observed units."""
    weighted: Float
    """Estimated units of the fleet."""
    moments: Parts | None
    unpacked: WeightedMoments
    """The encoded moments, from which `of_functions` decodes."""
    version: Int64
    """As in `Cells`."""

    def __len__(self) -> int:
        return len(self.level)

    def of_functions(self, wanted: Bool) -> Parts:
        """The moments of the functions that are `wanted` by id. Raises `CorruptCell`."""
        return self.unpacked.parts(wanted)

    @property
    def cell(self) -> Int64:
        """The cell of each fact, counted from 0."""
        return np.repeat(np.arange(len(self.facts)), self.facts)


@dataclass(frozen=True, slots=True)
class Exposure:
    """Visits and observed time behind the cells of some hours, summed by stratum, day and class."""

    stratum: Int64
    day: Int64
    """Days since 1970 UTC."""
    utilisation_class: Int64
    """-1…3."""
    visits: Int64
    """Visits merged into cells, including those without samples."""
    seconds: Float


def read_cells(
    connection: Connection,
    source: Source,
    cover: Cover,
    *,
    k1: Sequence[int] | None = None,
    facts: bool = True,
    moments: bool = True,
    functions: Functions = Functions.READ,
    versions: bool = False,
    limit: int = MAX_BYTES,
) -> Cells:
    """Read the raw cells of `cover.hours` and `cover.days` whose `k1` is in the given list (None: any).

    Without `facts` or `moments` the respective blobs are not read. Raises `CorruptCell`, and `TooMuch` beyond `limit`
    bytes.
    """
    statement = _raw(
        facts=facts,
        moments=functions if moments else None,
        versions=versions,
        k1=k1 is not None,
    )
    given = _given(source, k1) | {"strata": list(connection.scalars(_STRATA))}
    parts: list[Columns] = []
    data: list[memoryview] = []
    blobs: list[memoryview] = []
    for level, buckets in ((HOUR, cover.hours), (DAY, cover.days)):
        if not buckets:
            continue
        columns, found = cell_rows.read(
            connection, statement, {**given, "level": level, "buckets": list(buckets)}, limit=limit
        )
        parts.append(columns)
        if facts:
            data += found[0]
        if moments:
            blobs += found[-1]
    columns = _joined(parts, [*_RAW, "version", "facts"])
    stack, units = _facts(data, columns["facts"])
    sums = None
    if moments:
        read = functions is Functions.READ
        sums = unpacked_moments.decode(blobs).in_units() if read else moments_codec.decode_heads(blobs)
    arguments: list[Any] = [*(columns[name] for name in _RAW), columns["facts"], stack, units, sums]
    arguments += [unpacked_moments.Unpacked(blobs), columns["version"]]
    return Cells(*arguments)  # in the order of the fields


def read_weighted(
    connection: Connection,
    source: Source,
    cover: Cover,
    *,
    k1: Sequence[int] | None = None,
    facts: bool = True,
    moments: bool = True,
    functions: Functions = Functions.READ,
    estimates: bool = True,
    versions: bool = False,
    limit: int = MAX_BYTES,
) -> WeightedCells:
    """Read the cells of `cover.weighted`; parameters and errors are those of `read_cells`.

    Without `estimates` the fleet estimates of facts are not read and are 0 for all.
    """
    statement = _merged(
        facts=facts,
        estimates=estimates,
        moments=functions if moments else None,
        versions=versions,
        k1=k1 is not None,
    )
    given = _given(source, k1)
    tables: list[Columns] = []
    found: list[list[memoryview]] = [[] for _ in range(facts + (facts and estimates) + moments)]
    for level in sorted({level for level, _ in cover.weighted}):
        buckets = [bucket for of, bucket in cover.weighted if of == level]
        columns, blobs = cell_rows.read(
            connection, statement, {**given, "level": level, "buckets": buckets}, limit=limit
        )
        tables.append(columns)
        for column, more in zip(found, blobs, strict=True):
            column.extend(more)
    columns = _joined(tables, [*_WEIGHTED, "version", "facts"])
    stack, units = _facts(found[0] if facts else [], columns["facts"])
    if facts and estimates:
        doubles = long_moments_codec.decode_doubles(found[1], columns["facts"])
    else:
        doubles = np.zeros(len(units))
    parts = None
    if moments:
        read = functions is Functions.READ
        parts = long_moments_codec.decode(found[-1]) if read else long_moments_codec.decode_heads(found[-1])
    arguments: list[Any] = [columns[name] for name in _WEIGHTED]
    arguments += [columns["facts"], stack, units, doubles, parts]
    arguments += [WeightedMoments(found[-1] if moments else ()), columns["version"]]
    return WeightedCells(*arguments)


def read_exposure(connection: Connection, source: Source, first_hour: int, end_hour: int) -> Exposure:
    """The exposure behind the raw cells of the hours [first, end); it is the same for all cubes."""
    of = source.campaign_id, source.sample_type_id, source.stacks
    return _read_exposure(connection, of, first_hour, end_hour)


@cached_per_snapshot
def _read_exposure(
    connection: Connection, of: tuple[int, int, bool], first_hour: int, end_hour: int
) -> Exposure:
    given = {
        **dict(zip(("campaign", "sample_type", "stacks"), of, strict=True)),
        "first": first_hour,
        "end": end_hour,
        "first_day": day_of(first_hour // HOURS_A_DAY),
        "last_day": day_of(max(end_hour - 1, first_hour) // HOURS_A_DAY),
    }
    found = connection.execute(_EXPOSURE, given).all()
    days = [row.day.toordinal() - _EPOCH for row in found]
    ints = [np.array([row[i] for row in found], np.int64) for i in (0, 2, 3)]
    seconds = np.array([row.seconds for row in found], np.float64)
    return Exposure(ints[0], np.array(days, np.int64), ints[1], ints[2], seconds)


_EPOCH = day_of(0).toordinal()
_RAW = ["stratum_id", *(field.name for field in fields(Cells)[1:10])]
_WEIGHTED = [field.name for field in fields(WeightedCells)[:9]]


# Statements of every query are built once and executed with parameters: building one takes as long as executing it.
_STRATA = select(stratum.c.stratum_id)
_EXPOSURE = (
    select(
        exposure.c.stratum_id,
        exposure.c.day,
        exposure.c.utilisation_class,
        func.sum(exposure.c.visits).label("visits"),
        func.sum(exposure.c.seconds).label("seconds"),
    )
    .where(
        exposure.c.campaign_id == bindparam("campaign"),
        exposure.c.sample_type_id == bindparam("sample_type"),
        exposure.c.stacks == bindparam("stacks"),
        exposure.c.hour >= bindparam("first"),
        exposure.c.hour < bindparam("end"),
        # The days of the hours, because the table's index is by day.
        exposure.c.day >= bindparam("first_day"),
        exposure.c.day <= bindparam("last_day"),
    )
    .group_by(exposure.c.stratum_id, exposure.c.day, exposure.c.utilisation_class)
    .order_by(exposure.c.day, exposure.c.stratum_id, exposure.c.utilisation_class)
)


@cache
def _raw(*, facts: bool, moments: Functions | None, versions: bool, k1: bool) -> Select[Any]:
    """Cells of one level and some buckets; `k1`: restricted to the given keys."""
    version = [_version(rollup)] if versions else []
    named = [rollup.c.facts, rollup.c.data] if facts else []
    names = [] if moments is None else [_moments(rollup.c.moments, functions=moments)]
    statement = select(*(rollup.c[name] for name in _RAW), *version, *named, *names)
    # Every column of the primary key gets a list of values: PostgreSQL then descends the index for each combination and
    # does not scan it from end to end.
    return _chosen(statement, rollup, k1=k1).where(
        among_given(rollup.c.stratum_id, "strata"), rollup.c.utilisation_class.in_(_CLASSES)
    )


@cache
def _merged(
    *, facts: bool, estimates: bool, moments: Functions | None, versions: bool, k1: bool
) -> Select[Any]:
    """The same for weighted cells of many days."""
    version = [_version(rollup_long)] if versions else []
    named = [rollup_long.c.facts, rollup_long.c.data] if facts else []
    if facts and estimates:
        named.append(rollup_long.c.weighted)
    names = [] if moments is None else [_moments(rollup_long.c.moments, functions=moments)]
    statement = select(*(rollup_long.c[name] for name in _WEIGHTED), *version, *named, *names)
    return _chosen(statement, rollup_long, k1=k1)


def _chosen(statement: Select[Any], table: Table, *, k1: bool) -> Select[Any]:
    """Add conditions on a level and its buckets, and those whose values come from `_given`."""
    statement = statement.where(
        table.c.cube == bindparam("cube"),
        table.c.campaign_id == bindparam("campaign"),
        table.c.stacks == bindparam("stacks"),
        table.c.sample_type_id == bindparam("sample_type"),
        table.c.level == bindparam("level"),
        among_given(table.c.bucket, "buckets"),
    )
    return statement.where(among_given(table.c.k1, "k1")) if k1 else statement


def _given(source: Source, k1: Sequence[int] | None) -> dict[str, Any]:
    keys = {} if k1 is None else {"k1": list(k1)}
    return keys | {
        "cube": source.cube.id,
        "campaign": source.campaign_id,
        "stacks": source.stacks,
        "sample_type": source.sample_type_id,
    }


def _version(table: Table) -> ColumnElement[int]:
    """The transaction that wrote a row, as its version.

    A row is written once per transaction, so key and version identify its content.
    """
    return cast(cast(literal_column(f"{table.name}.xmin"), Text), BigInteger).label("version")


def _moments(column: Column[Any], *, functions: Functions) -> ColumnElement[bytes]:
    """The blobs, or only the part before the functions: then the rest is never fetched."""
    if functions is not Functions.NONE:
        return column
    return func.substring(column, 1, moments_codec.HEAD_BYTES, type_=LargeBinary).label("moments")


def _joined(parts: list[Columns], names: Sequence[str]) -> Columns:
    """The columns of several statements; `facts` is 0 where it was not read."""
    size = sum(len(next(iter(part.values()))) for part in parts)
    return {
        name: np.concatenate([part[name] for part in parts])
        if parts and name in parts[0]
        else np.zeros(size, np.int64)
        for name in names
    }


def _facts(blobs: Sequence[memoryview], counts: Int64) -> tuple[Int64, Int64]:
    if not blobs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    query_budget.take(_FACT_BYTES * int(counts.sum()))
    try:
        stack, units = decode_many(blobs, counts)
    except CorruptChunk as error:
        raise CorruptCell(f"cannot decode a cell: {error}") from error
    return stack.astype(np.int64), units
