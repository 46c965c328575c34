"""Daily rollups: merge the cells of a finished day's hours into cells of the day, once.

A running day has hour cells only: every batch would read, unpack and rewrite ever larger day cells that add nothing to
the hours. Visits ingested after the daily rollup are added to both levels, or to the day alone once its hour cells are
dropped (`hourly_retention`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import structlog
from sqlalchemy import BigInteger, Connection, Engine, Select, and_, cast, func, select, tuple_

from storage.arrays import Int64
from storage.blobs.fact_blobs import decode_many, encode_many
from storage.errors import BadSelection, CorruptCell, CorruptChunk, DatabaseError, StorageError
from storage.rollup import cell_moments, cell_rows, rollup_days
from storage.rollup.batch import numbered
from storage.rollup.cubes import DAY, HOUR, HOURS_A_DAY, day_number, day_of
from storage.rollup.day_locks import locked_snapshot
from storage.rollup.merge import Facts
from storage.rollup.rebuild import rebuild
from storage.rollup.stack_functions import StackFunctions
from storage.schema import rollup, stratum
from storage.snapshots.copy_binary import among

ROLLED_UP_AFTER = timedelta(hours=1)
"""Delay after a day's end, by which nearly all of its visits are ingested."""
_PAIRS = 2_000_000
"""Pairs of facts and of moments decoded at once, some 200 MB; more if a single hour of a single key has more."""
_CLASSES = (-1, 0, 1, 2, 3)
_SOURCE = ("cube", "campaign_id", "stacks", "sample_type_id")
_COUNTS = ("profiles", "visits", "samples", "total")
_SIZE = cast(
    func.sum(rollup.c.facts + func.coalesce(func.octet_length(rollup.c.moments), 0) * 3 // 4), BigInteger
)
"""Pairs in a cell. A (function, visit) pair takes 1.3 bytes; twelve bytes of sums are decoded to as much as five pairs.
"""

_log = structlog.get_logger("rolling")


def roll_up_days(
    engine: Engine, now: datetime, *, mended: set[tuple[int, int]] | None = None
) -> tuple[int, ...]:
    """Write the daily rollup of each day that is over at `now`; return these days (since 1970).

    Each day is one transaction. Concurrent calls are safe. If a day's cells are damaged, the day is rebuilt from its
    chunks, once per `mended`, which holds (`DAY`, day) across calls. If that fails, the day has no daily rollup and
    queries read its hours. Raises `DatabaseError` only.
    """
    with engine.connect() as connection:
        over = overdue(connection, now)
    mended = set() if mended is None else mended
    return tuple(day for day in over if _rolled_up_or_repaired(engine, day, mended))


def overdue(connection: Connection, now: datetime) -> list[int]:
    """The days (since 1970) that are over at `now` and have no daily rollup, ascending."""
    end = day_number((now.astimezone(UTC) - ROLLED_UP_AFTER).date())
    return sorted(day for day in rollup_days.without_daily_rollup(connection) if day < end)


def _rolled_up_or_repaired(engine: Engine, day: int, mended: set[tuple[int, int]]) -> bool:
    try:
        return _roll_up(engine, day)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("a day's hours cannot be merged", day=str(day_of(day)), why=str(error))
        # A result over the byte limit would be as large after a rebuild.
        if (DAY, day) in mended or isinstance(error, BadSelection):
            return False
    mended.add((DAY, day))
    try:
        rebuild(engine, day_of(day), stack_functions=StackFunctions())
        return _roll_up(engine, day)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("a day's hours are left unmerged", day=str(day_of(day)), why=str(error))
        return False


def _roll_up(engine: Engine, day: int) -> bool:
    """Write the day's cells; return False if a concurrent call has written them."""
    with locked_snapshot(engine, [day]) as connection:
        if day not in rollup_days.without_daily_rollup(connection):
            return False
        for part in _parts(connection, day):
            _merge(connection, part, day)
        rollup_days.set_rolled_up(connection, day)
    return True


@dataclass(frozen=True, slots=True)
class _Part:
    """Hour cells that are merged together: all of some applications of one source, stratum and utilisation class."""

    source: tuple[int, int, bool, int]
    stratum: int
    utilisation_class: int
    k1: tuple[int, ...]
    pairs: int


def _parts(connection: Connection, day: int) -> Iterator[_Part]:
    strata = list(connection.scalars(select(stratum.c.stratum_id)))
    c = rollup.c
    keys = (c.stratum_id, c.utilisation_class, c.k1)
    for source in _sources(connection):
        sizes = _of_hours(select(*keys, _SIZE), source, day).where(
            among(c.stratum_id, strata), c.utilisation_class.in_(_CLASSES)
        )
        part: _Part | None = None
        for of, class_, k1, pairs in connection.execute(sizes.group_by(*keys).order_by(*keys)).all():
            if part is not None:
                same = (of, class_) == (part.stratum, part.utilisation_class)
                if same and part.pairs + pairs <= _PAIRS:
                    part = replace(part, k1=(*part.k1, k1), pairs=part.pairs + pairs)
                    continue
                yield part
            part = _Part(source, of, class_, (k1,), pairs)
        if part is not None:
            yield part


def _sources(connection: Connection) -> Iterator[tuple[int, int, bool, int]]:
    """The sources that have cells. Each takes one probe of the primary key's leading columns."""
    columns = [rollup.c[name] for name in _SOURCE]
    statement = select(*columns).order_by(*columns).limit(1)
    found = connection.execute(statement).one_or_none()
    while found is not None:
        yield tuple(found)
        found = connection.execute(statement.where(tuple_(*columns) > tuple_(*found))).one_or_none()


def _of_hours(statement: Select, source: tuple[int, int, bool, int], day: int) -> Select:  # type: ignore[type-arg]  # any
    first = day * HOURS_A_DAY
    return statement.where(
        and_(*(rollup.c[name] == value for name, value in zip(_SOURCE, source, strict=True))),
        rollup.c.level == HOUR,
        among(rollup.c.bucket, list(range(first, first + HOURS_A_DAY))),
    )


def _of_part(statement: Select, part: _Part, day: int) -> Select:  # type: ignore[type-arg]  # any
    return _of_hours(statement, part.source, day).where(
        rollup.c.stratum_id == part.stratum,
        rollup.c.utilisation_class == part.utilisation_class,
        among(rollup.c.k1, part.k1),
    )


def _merge(connection: Connection, part: _Part, day: int) -> None:
    """Write the day's cells of one part. Raises `CorruptCell`."""
    merged: _Cells | None = None
    for buckets in _at_once(connection, part, day):
        more = _Cells.read(connection, part, day, buckets)
        merged = (more if merged is None else merged.and_of(more)).by_key()
    if merged is not None:
        _write(connection, part, day, merged)


def _at_once(connection: Connection, part: _Part, day: int) -> Iterator[list[int]]:
    """The hours of a part in groups that are decoded together."""
    if part.pairs <= _PAIRS:
        first = day * HOURS_A_DAY
        yield list(range(first, first + HOURS_A_DAY))
        return
    c = rollup.c
    sizes = _of_part(select(c.bucket, _SIZE), part, day).group_by(c.bucket).order_by(c.bucket)
    group: list[int] = []
    total = 0
    for bucket, pairs in connection.execute(sizes).all():
        if group and total + pairs > _PAIRS:
            yield group
            group, total = [], 0
        group.append(bucket)
        total += pairs
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class _Cells:
    """Columns over cells. Moments stay encoded: decoded they take forty times as much memory."""

    k1: Int64
    k2: Int64
    counts: dict[str, Int64]
    facts: Facts
    moments: Sequence[cell_rows.Blob]

    @classmethod
    def read(cls, connection: Connection, part: _Part, day: int, buckets: list[int]) -> "_Cells":
        c = rollup.c
        statement = select(c.k1, c.k2, *(c[name] for name in _COUNTS), c.facts, c.data, c.moments)
        columns, (data, moments) = cell_rows.read(
            connection, _of_part(statement, part, day).where(among(c.bucket, buckets))
        )
        try:
            stack, units = decode_many(data, columns["facts"])
        except CorruptChunk as error:
            raise CorruptCell(f"cannot decode a cell: {error}") from error
        facts = Facts(columns["facts"], stack.astype(np.int64), units)
        counted = {name: columns[name] for name in _COUNTS}
        return cls(columns["k1"], columns["k2"], counted, facts, moments)

    def and_of(self, other: "_Cells") -> "_Cells":
        """Concatenate both."""
        pairs = ((getattr(self.facts, name), getattr(other.facts, name)) for name in Facts.__slots__)
        return _Cells(
            np.concatenate((self.k1, other.k1)),
            np.concatenate((self.k2, other.k2)),
            {name: np.concatenate((column, other.counts[name])) for name, column in self.counts.items()},
            Facts(*map(np.concatenate, pairs)),
            [*self.moments, *other.moments],
        )

    def by_key(self) -> "_Cells":
        """Merge to one cell per key. Raises `CorruptCell`."""
        lead, into = numbered(self.k1, self.k2)
        n = len(lead)
        counted = {name: np.zeros(n, np.int64) for name in self.counts}
        for name, column in counted.items():
            np.add.at(column, into, self.counts[name])
        moments = cell_moments.merged(self.moments, into, n)
        return _Cells(self.k1[lead], self.k2[lead], counted, self.facts.into(into, n), moments)


def _write(connection: Connection, part: _Part, day: int, cells: _Cells) -> None:
    n = len(cells.k1)
    key = (*part.source, part.stratum, part.utilisation_class, DAY, day)
    names = (*_SOURCE, "stratum_id", "utilisation_class", "level", "bucket")
    written = {name: np.full(n, value) for name, value in zip(names, key, strict=True)}
    written |= {"k1": cells.k1, "k2": cells.k2, "facts": cells.facts.count, **cells.counts}
    facts = cells.facts
    blobs = {"data": encode_many(facts.stack, facts.units, facts.count), "moments": cells.moments}
    cell_rows.write(connection, rollup, written, blobs)
