"""Merge closed days into buckets of 4, 16 and 64 days where that saves rows.

A day is closed 48 hours after its end if it has a daily rollup (`roll_up_days`) and none of its visits wait in the
queue: by then its visits are ingested and its weights hardly change. A bucket is built when all its days are closed,
from day cells or from smaller buckets within it. It is written only if it has few of their rows: in a sparse store a
function occurs in one visit of four days, and a bucket would copy eight doubles a row. `rollup_long_built` stores a
fingerprint of the inputs (`input_fingerprint`). When the inputs change, queries ignore the bucket until it is rebuilt
here.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import structlog
from sqlalchemy import Connection, Engine, delete, insert, select

from storage.database import snapshot
from storage.errors import BadSelection, DatabaseError, StorageError
from storage.query.estimation.strata import read_strata
from storage.rollup import input_fingerprint, long_buckets
from storage.rollup.cubes import (
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
from storage.rollup.daily import roll_up_days
from storage.rollup.day_locks import locked_snapshot
from storage.rollup.errors import DayGone
from storage.rollup.read_cells import read_exposure
from storage.rollup.rebuild import rebuild
from storage.rollup.time_cover import Bucket, days_of, read_state
from storage.schema import exposure, rollup_long, rollup_long_built, sample_type
from storage.snapshots.snapshot_cache import caching_snapshot

CLOSED_AFTER = timedelta(hours=48)
"""Delay after a day's end. By then captures are ingested, also those of machines that were unreachable."""
MOST_ROWS = 0.5
"""Largest share of its inputs' rows that a bucket may have; a larger bucket saves less than it takes."""

_log = structlog.get_logger("rolling")


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of one call."""

    buckets: tuple[Bucket, ...]
    """(level, bucket) of each bucket built, for all cubes that were out of date."""


def compact(
    engine: Engine,
    now: datetime,
    *,
    mended: set[tuple[int, int]] | None = None,
    most_rows: float = MOST_ROWS,
) -> Compacted:
    """Write due daily rollups, then build each bucket whose days are all closed at `now`, one after the other.

    Concurrent calls are safe. Gauges stay in days: levels are averaged, not added. If cells of a bucket are damaged,
    its days or the smaller buckets within it are rebuilt, once per `mended`, which is kept between calls. If that
    fails, the bucket is not built. A bucket with more than `most_rows` of its inputs' rows is not written. Raises
    `DatabaseError` only.
    """
    mended = set() if mended is None else mended
    roll_up_days(engine, now, mended=mended)
    making = _Making(engine, now, most_rows, mended)
    with snapshot(engine) as connection:
        due = sorted({one.bucket for one in _due(connection, now)})
    return Compacted(tuple(bucket for bucket in due if making.made_or_mended(bucket)))


def closed_before(now: datetime) -> int:
    """The first day (since 1970) that is not closed at `now`."""
    return day_number((now.astimezone(UTC) - CLOSED_AFTER).date())


@dataclass(frozen=True, slots=True)
class _Making:
    """Builds buckets."""

    engine: Engine
    now: datetime
    most_rows: float
    mended: set[tuple[int, int]]

    def made_or_mended(self, bucket: Bucket) -> bool:
        """Build a bucket; on damaged inputs, rebuild these and try again."""
        ways = [self._make_days_again]
        if bucket[0] > WEIGHTED_LEVELS[0]:
            ways.insert(0, self._make_again_within)
        if bucket in self.mended:
            ways = []
        while True:
            try:
                return self._make(bucket)
            except DatabaseError:
                raise
            except StorageError as error:
                days = len(days_of(bucket))
                _log.error("closed days cannot be merged", days=days, bucket=bucket[1], why=str(error))
                # A result over the byte limit would be as large after a rebuild.
                if not ways or isinstance(error, BadSelection):
                    return False
            self.mended.add(bucket)
            ways.pop(0)(bucket)

    def _make_again_within(self, bucket: Bucket) -> None:
        """Rebuild the smaller buckets within a bucket."""
        level, number = bucket
        within = [(level - 1, 4 * number + n) for n in range(4)]
        with self.engine.begin() as connection:
            c = rollup_long_built.c
            forgotten = c.bucket.in_([child for _, child in within])
            connection.execute(delete(rollup_long_built).where(c.level == level - 1, forgotten))
        for child in within:
            self.made_or_mended(child)

    def _make_days_again(self, bucket: Bucket) -> None:
        for day in days_of(bucket):
            try:
                rebuild(self.engine, day_of(day))
            except DatabaseError:
                raise
            except DayGone:
                continue
            except StorageError as error:
                _log.error("cells cannot be rebuilt", day=str(day_of(day)), why=str(error))

    def _make(self, bucket: Bucket) -> bool:
        """Build a bucket for all sources that need it; return False if none does, or if a day of it has changed."""
        level, number = bucket
        with locked_snapshot(self.engine, days_of(bucket)) as connection:
            due = _due(connection, self.now, only=bucket)
            for one in due:
                key = {"cube": one.source.cube.id, "campaign_id": one.source.campaign_id}
                key |= {"stacks": one.source.stacks, "sample_type_id": one.source.sample_type_id}
                key |= {"level": level, "bucket": number}
                for table in (rollup_long, rollup_long_built):
                    connection.execute(delete(table).where(*(table.c[name] == key[name] for name in key)))
                merged = self._write(connection, one)
                row = {**key, "made_of": one.made_of, "merged": merged}
                connection.execute(insert(rollup_long_built).values(row))
        return bool(due)

    def _write(self, connection: Connection, due: "_Due") -> bool:
        """Write a bucket of one source; return False, and write nothing, if it would have too many rows."""
        merging = long_buckets.Merging(connection, due.source, days_of(due.bucket), due.parts)
        rows = before = 0
        with connection.begin_nested() as written:
            for merged in merging.merged():
                long_buckets.write(connection, due.source, due.bucket, merged)
                rows += merged.rows
                before += merged.rows_before
            merges = rows <= self.most_rows * before
            if not merges:
                written.rollback()
        return merges


@dataclass(frozen=True, slots=True)
class _Due:
    """A bucket of a source that is to be built."""

    source: Source
    bucket: Bucket
    made_of: int
    parts: tuple[Bucket, ...]
    """The inputs: day cells (level `DAY`) and smaller buckets that together cover its days."""


def _due(connection: Connection, now: datetime, *, only: Bucket | None = None) -> list[_Due]:
    """Buckets of closed days that are missing or outdated in this snapshot."""
    days = range(closed_before(now)) if only is None else days_of(only)
    found: list[_Due] = []
    with caching_snapshot(connection):
        for source in _sources(connection, days):
            found += _due_of(connection, source, days, closed_before(now))
    return [due for due in found if only in (None, due.bucket)]


def _due_of(connection: Connection, source: Source, days: range, end: int) -> Iterator[_Due]:
    first_hour, end_hour = days.start * HOURS_A_DAY, days.stop * HOURS_A_DAY
    start, until = (datetime.fromtimestamp(hour * 3600, UTC) for hour in (first_hour, end_hour))
    strata = read_strata(connection, source.campaign_id, start, until)
    if strata is None:  # queries read no cells of a campaign that does not draw at random
        return
    watched = read_exposure(connection, source, first_hour, end_hour)
    state = read_state(connection, source.campaign_id, source.sample_type_id, first=first_hour, end=end_hour)
    fresh = input_fingerprint.of_days(strata, watched, state.changes)
    open_ = state.waiting | state.without_daily_rollup
    for cube in CUBES:
        of_cube = replace(source, cube=cube)
        built = state.built.get((cube.id, source.stacks), {})
        there = {
            of for of, b in built.items() if b.merged and b.made_of == input_fingerprint.of_bucket(fresh, of)
        }
        for level in cube.weighted_levels:
            for number in np.unique(watched.day // bucket_days(level)).tolist():
                bucket = level, number
                made = input_fingerprint.of_bucket(fresh, bucket)
                within = days_of(bucket)
                if within.stop > end or not open_.isdisjoint(within):
                    continue
                if bucket not in built or built[bucket].made_of != made:
                    yield _Due(of_cube, bucket, made, tuple(_parts(bucket, there)))


def _parts(bucket: Bucket, there: Collection[Bucket]) -> Iterator[Bucket]:
    level, number = bucket
    for child in ((level - 1, 4 * number + n) for n in range(4)):
        if child[0] == DAY or child in there:
            yield child
        else:
            yield from _parts(child, there)


def _sources(connection: Connection, days: range) -> list[Source]:
    c = exposure.c
    found = connection.execute(
        select(c.campaign_id, c.stacks, c.sample_type_id)
        .distinct()
        .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
        .where(c.day >= day_of(days[0]), c.day <= day_of(days[-1]), sample_type.c.kind == "rate")
    ).all()
    return [Source(EVENT, row.campaign_id, row.stacks, row.sample_type_id) for row in sorted(found)]
