"""Closed days become buckets of 4, 16 and 64 days, once their coverage is final.

A day is closed 48 hours after its end, when it is folded (`fold`) and nothing of it waits in the queue: by then its visits have
landed and its weights do not change any more. A bucket is built when all its days are closed, from day
cells or from the four buckets of the level below, and `roll_built` says that it holds all there is.
Whoever changes a day later deletes that row in the same transaction, and the bucket is built again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import structlog
from sqlalchemy import Connection, Engine, delete, func, insert, select

from storage.errors import BadSelection, DatabaseError, StorageError
from storage.landing.codec import encode_many
from storage.query.copy_binary import among
from storage.query.weighing.strata import read_strata
from storage.rolling import days as states
from storage.rolling import rows, weighted, weighted_codec
from storage.rolling.cover import Cover
from storage.rolling.cubes import (
    CUBES,
    DAY,
    EVENT,
    HOURS_A_DAY,
    WEIGHTED_LEVELS,
    Source,
    bucket_days,
    day_number,
    day_of,
)
from storage.rolling.errors import DayGone
from storage.rolling.fold import fold
from storage.rolling.locks import locked_snapshot
from storage.rolling.reading import Cells, WeightedCells, read_cells, read_exposure, read_weighted
from storage.rolling.rebuild import rebuild
from storage.rolling.sorting import Float64, Int64
from storage.rolling.weighing import (
    NO_FACTS,
    DayWeights,
    WeightedFacts,
    add_facts,
    day_parts,
    day_weights,
    landed_behind,
)
from storage.rolling.weighted import Parts, add_up
from storage.schema import exposure, roll, roll_built, roll_queue, roll_weighted, sample_type

CLOSED_AFTER = timedelta(hours=48)
"""From a day's end on: captures have landed, also those of machines that came back."""
_FACTS = 8_000_000
"""Pairs of cells that are merged in one go, if a single key has no more; about 1 GB."""

_log = structlog.get_logger("rolling")


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a call built."""

    buckets: tuple[tuple[int, int], ...]
    """(level, bucket), each for all cubes."""


def compact(engine: Engine, now: datetime, *, mended: set[tuple[int, int]] | None = None) -> Compacted:
    """Fold the days that are over, and build the buckets whose days are all closed at `now`, one after the other.

    Any number may run at once. Gauges are left in their days: levels are averaged, not added up. Of a
    bucket whose cells are damaged the days, or the buckets below, are made again, once as `mended`
    remembers between calls; if that does not help it stays unbuilt. Raises `DatabaseError` only.
    """
    mended = set() if mended is None else mended
    fold(engine, now, mended=mended)
    built = []
    for level in WEIGHTED_LEVELS:
        with engine.connect() as connection:
            found = _buildable(connection, level, now)
        built += [(level, bucket) for bucket in found if _built_or_mended(engine, level, bucket, now, mended)]
    return Compacted(tuple(built))


def _built_or_mended(
    engine: Engine, level: int, bucket: int, now: datetime, mended: set[tuple[int, int]]
) -> bool:
    """Build a bucket, if need be after making again what it is built from."""
    size = bucket_days(level)
    try:
        return _build(engine, level, bucket, now)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("closed days cannot be merged", days=size, bucket=bucket, why=str(error))
        # Too many bytes would be as many again.
        if (level, bucket) in mended or isinstance(error, BadSelection):
            return False
    mended.add((level, bucket))
    if level == 1:
        for day in range(bucket * size, (bucket + 1) * size):
            _rebuild(engine, day)
    else:
        parts = range(4 * bucket, 4 * bucket + 4)
        with engine.begin() as connection:
            c = roll_built.c
            connection.execute(delete(roll_built).where(c.level == level - 1, c.bucket.in_(parts)))
        for part in parts:
            _built_or_mended(engine, level - 1, part, now, mended)
    try:
        return _build(engine, level, bucket, now)
    except DatabaseError:
        raise
    except StorageError as error:
        _log.error("closed days stay unmerged", days=size, bucket=bucket, why=str(error))
        return False


def _rebuild(engine: Engine, day: int) -> None:
    try:
        rebuild(engine, day_of(day))
    except DatabaseError:
        raise
    except DayGone:
        return
    except StorageError as error:
        _log.error("cells could not be rebuilt", day=str(day_of(day)), why=str(error))


def closed_before(now: datetime) -> int:
    """The first day (since 1970) that is not over for long enough."""
    return day_number((now.astimezone(UTC) - CLOSED_AFTER).date())


def _buildable(connection: Connection, level: int, now: datetime, only: int | None = None) -> list[int]:
    """Buckets of a level with anything in them, not built yet, that can be."""
    size, end = bucket_days(level), closed_before(now)
    days = {day_number(day) for day in connection.scalars(select(exposure.c.day).distinct())}
    waiting = {day_number(day) for day in connection.scalars(select(roll_queue.c.day).distinct())}
    open_ = states.unfolded(connection)
    built = _built(connection, level)
    below = _built(connection, level - 1)
    buckets = []
    for bucket in sorted({day // size for day in days}) if only is None else [only]:
        inside = range(bucket * size, (bucket + 1) * size)
        if bucket in built or inside.stop > end or not waiting.union(open_).isdisjoint(inside):
            continue
        if level > 1 and not {day * 4 // size for day in days.intersection(inside)} <= below:
            continue
        buckets.append(bucket)
    return buckets


def _built(connection: Connection, level: int) -> set[int]:
    """Buckets that all cubes have."""
    c = roll_built.c
    statement = select(c.bucket).where(c.level == level).group_by(c.bucket)
    return set(connection.scalars(statement.having(func.count() == len(CUBES))))


def _build(engine: Engine, level: int, bucket: int, now: datetime) -> bool:
    """Build a bucket for all cubes; False: somebody did, or changed one of its days."""
    size = bucket_days(level)
    days = range(bucket * size, (bucket + 1) * size)
    with locked_snapshot(engine, days) as connection:
        if not _buildable(connection, level, now, bucket):
            return False
        for table in (roll_weighted, roll_built):
            connection.execute(delete(table).where(table.c.level == level, table.c.bucket == bucket))
        for source in _sources(connection, days):
            maker = (
                _OfDays(connection, source, days)
                if level == 1
                else _OfBuckets(connection, source, level, bucket)
            )
            for cube in CUBES:
                of = replace(source, cube=cube)
                for keys in _key_groups(maker.sizes(of)):
                    _write(connection, of, level, bucket, maker.merge(of, keys))
        connection.execute(
            insert(roll_built), [{"cube": cube.id, "level": level, "bucket": bucket} for cube in CUBES]
        )
    return True


def _sources(connection: Connection, days: Sequence[int]) -> list[Source]:
    c = exposure.c
    found = connection.execute(
        select(c.campaign_id, c.stacks, c.sample_type_id)
        .distinct()
        .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
        .where(c.day >= day_of(days[0]), c.day <= day_of(days[-1]), sample_type.c.kind == "rate")
    ).all()
    return [Source(EVENT, row.campaign_id, row.stacks, row.sample_type_id) for row in sorted(found)]


def _key_groups(sizes: dict[tuple[int, int], int]) -> Iterator[Int64]:
    """Keys (k1, k2) in groups that are merged together: (n, 2) each, all k2 of a k1 in one."""
    group: list[tuple[int, int]] = []
    total = 0
    for key in sorted(sizes):
        if group and total + sizes[key] > _FACTS and key[0] != group[-1][0]:
            yield np.array(group, np.int64)
            group, total = [], 0
        group.append(key)
        total += sizes[key]
    if group:
        yield np.array(group, np.int64)


@dataclass(frozen=True, slots=True)
class _Merged:
    """Cells of a bucket, one for each key."""

    keys: Int64
    counts: dict[str, Int64]
    weighted_total: Float64
    facts: WeightedFacts
    parts: Parts | None


_COUNTS = ("profiles", "visits", "samples", "total")


class _Merging:
    """Adds cells up by key."""

    def __init__(self, keys: Int64) -> None:
        self._keys = keys
        self._sorted = (keys[:, 0] << 32) | keys[:, 1]
        self._counts = {name: np.zeros(len(keys), np.int64) for name in _COUNTS}
        self._weighted_total = np.zeros(len(keys))
        self._facts = NO_FACTS
        self._parts: list[Parts] = []

    def places(self, cells: Cells | WeightedCells) -> Int64:
        """The key of each cell."""
        return np.searchsorted(self._sorted, (cells.k1 << 32) | cells.k2)

    def add(self, cells: Cells | WeightedCells, weighted_total: Float64, weighted_units: Float64) -> None:
        """Add cells, whose estimates are given beside them."""
        into = self.places(cells)
        for name, column in self._counts.items():
            np.add.at(column, into, getattr(cells, name))
        np.add.at(self._weighted_total, into, weighted_total)
        self._facts = add_facts(
            self._facts, WeightedFacts(into[cells.cell], cells.stack, cells.units, weighted_units)
        )

    def add_parts(self, parts: Parts, into: Int64) -> None:
        """Add moments; those of cell i to the key `into[i]`."""
        self._parts.append(add_up(parts, into, len(self._keys)))

    def done(self) -> _Merged:
        parts = None
        if self._parts:
            into = np.tile(np.arange(len(self._keys)), len(self._parts))
            parts = add_up(weighted.concatenated(self._parts), into, len(self._keys))
        return _Merged(self._keys, self._counts, self._weighted_total, self._facts, parts)


class _OfDays:
    """Makes a bucket's cells from those of its days."""

    def __init__(self, connection: Connection, source: Source, days: Sequence[int]) -> None:
        self._connection = connection
        self._days = days
        self._weights: dict[int, DayWeights] = {}
        self._events: dict[int, Cells] = {}
        for day in days:
            self._weights[day] = _weights_of(connection, source, day)
            event = replace(source, cube=EVENT)
            self._events[day] = read_cells(connection, event, Cover(days=(day,)), facts=False, moments=False)

    def sizes(self, source: Source) -> dict[tuple[int, int], int]:
        """Pairs of all cells by key."""
        c = roll.c
        statement = select(c.k1, c.k2, func.sum(c.facts)).where(
            c.cube == source.cube.id,
            c.campaign_id == source.campaign_id,
            c.stacks == source.stacks,
            c.sample_type_id == source.sample_type_id,
            c.level == DAY,
            among(c.bucket, list(self._days)),
        )
        found = self._connection.execute(statement.group_by(c.k1, c.k2)).all()
        return {(k1, k2): int(facts) for k1, k2, facts in found}

    def merge(self, source: Source, keys: Int64) -> _Merged:
        """The cells of these keys, a day at a time: what is held is the result and one day."""
        merging = _Merging(keys)
        k1 = sorted(set(keys[:, 0].tolist()))
        for day in self._days:
            cells = read_cells(self._connection, source, Cover(days=(day,)), k1=k1)
            weights = self._weights[day]
            weight, _ = weights.of(cells)
            merging.add(cells, weight * cells.total, weight[cells.cell] * cells.units)
            if cells.moments is not None:
                # Also where nothing was seen: the day's visits count in every cell.
                every = np.arange(len(keys))
                parts = day_parts(cells, merging.places(cells), len(keys), weights, self._events[day])
                merging.add_parts(parts, every)
        return merging.done()


class _OfBuckets:
    """Makes a bucket's cells from the four buckets below it."""

    def __init__(self, connection: Connection, source: Source, level: int, bucket: int) -> None:
        self._connection = connection
        self._children = [(level - 1, 4 * bucket + n) for n in range(4)]
        # Of the design, so the same for all cells, and for those that a child does not have.
        first = bucket * bucket_days(level)
        days = range(first, first + bucket_days(level))
        behind = [landed_behind(_weights_of(connection, source, day)) for day in days]
        self._landed, self._df = (float(sum(column)) for column in zip(*behind, strict=True))

    def sizes(self, source: Source) -> dict[tuple[int, int], int]:
        """Pairs of all cells by key."""
        c = roll_weighted.c
        statement = select(c.k1, c.k2, func.sum(c.facts)).where(
            c.cube == source.cube.id,
            c.campaign_id == source.campaign_id,
            c.stacks == source.stacks,
            c.sample_type_id == source.sample_type_id,
            c.level == self._children[0][0],
            c.bucket.in_([bucket for _, bucket in self._children]),
        )
        found = self._connection.execute(statement.group_by(c.k1, c.k2)).all()
        return {(k1, k2): int(facts) for k1, k2, facts in found}

    def merge(self, source: Source, keys: Int64) -> _Merged:
        """The cells of these keys, a child at a time."""
        merging = _Merging(keys)
        k1 = sorted(set(keys[:, 0].tolist()))
        for child in self._children:
            cells = read_weighted(self._connection, source, Cover(weighted=(child,)), k1=k1)
            merging.add(cells, cells.weighted_total, cells.weighted)
            if cells.moments is not None:
                merging.add_parts(cells.moments, merging.places(cells))
        merged = merging.done()
        if merged.parts is None:
            return merged
        same = np.ones(len(keys))
        return replace(merged, parts=replace(merged.parts, landed=self._landed * same, df=self._df * same))


def _weights_of(connection: Connection, source: Source, day: int) -> DayWeights:
    start = datetime.combine(day_of(day), datetime.min.time(), UTC)
    strata = read_strata(connection, source.campaign_id, start, start + timedelta(days=1))
    first = day * HOURS_A_DAY
    return day_weights(strata, read_exposure(connection, source, first, first + HOURS_A_DAY))


def _write(connection: Connection, source: Source, level: int, bucket: int, merged: _Merged) -> None:
    n = len(merged.keys)
    count = np.bincount(merged.facts.cell, minlength=n).astype(np.int64)
    of = (source.cube.id, source.campaign_id, source.stacks, source.sample_type_id, level, bucket)
    names = ("cube", "campaign_id", "stacks", "sample_type_id", "level", "bucket")
    columns: dict[str, Any] = {name: np.full(n, value) for name, value in zip(names, of, strict=True)}
    columns |= {"k1": merged.keys[:, 0], "k2": merged.keys[:, 1], "facts": count, **merged.counts}
    columns["weighted_total"] = merged.weighted_total
    blobs: dict[str, list[bytes]] = {
        "data": encode_many(merged.facts.stack, merged.facts.units, count),
        "weighted": weighted_codec.encode_doubles(merged.facts.weighted, count),
    }
    if merged.parts is not None:
        blobs["moments"] = weighted_codec.encode(merged.parts)
    rows.write(connection, roll_weighted, columns, blobs)
