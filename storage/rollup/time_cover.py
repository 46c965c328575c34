"""Cover a range of time with as few cells as possible, each hour by exactly one."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Date,
    bindparam,
    literal,
    null,
    select,
    union_all,
)

from storage.rollup.cubes import HOURS_A_DAY, Source, bucket_days, day_number, day_of
from storage.schema import rollup_day, rollup_long_built, rollup_queue

Bucket = tuple[int, int]
"""Level and number of a bucket of days."""


class Built(NamedTuple):
    """What `rollup_long_built` records about a bucket."""

    made_of: int
    """Fingerprint (`input_fingerprint`) of its inputs when it was built."""
    merged: bool
    """Whether it is written; otherwise it would have had too many rows."""


@dataclass(frozen=True, slots=True)
class State:
    """Which cells exist for a campaign's event, as of one snapshot."""

    built: Mapping[tuple[int, bool], Mapping[Bucket, Built]] = field(default_factory=dict)
    """By cube id and depth."""
    waiting: frozenset[int] = frozenset()
    """Days with queue entries: their visits change the weights, so no bucket with such a day is used."""
    hours_from: int = 0
    """The first hour from which hour cells certainly exist; earlier days have hour cells only if they have no daily
    rollup."""
    without_daily_rollup: frozenset[int] = frozenset()
    """Days that have hour cells only."""
    changes: Mapping[int, int] = field(default_factory=dict)
    """How often the cells of each day were written."""

    def candidates(self, source: Source, first: int, end: int) -> dict[Bucket, int]:
        """The written buckets within the hours [first, end) without waiting visits, and their fingerprints."""
        built = self.built.get((source.cube.id, source.stacks), {})
        return {
            of: one.made_of for of, one in built.items() if one.merged and self._is_within(of, first, end)
        }

    def _is_within(self, of: Bucket, first: int, end: int) -> bool:
        days = days_of(of)
        inside = first <= days.start * HOURS_A_DAY and days.stop * HOURS_A_DAY <= end
        return inside and self.waiting.isdisjoint(days)


@dataclass(frozen=True, slots=True)
class Cover:
    """Disjoint parts of a range; `rest` is not covered by cells."""

    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weighted: tuple[Bucket, ...] = ()
    """(level, bucket), ascending in time."""
    rest: tuple[tuple[int, int], ...] = ()
    """Ranges of hours [first, end) without cells, to be read from chunks."""

    def in_buckets(self, usable: Collection[Bucket]) -> "Cover":
        """Cover as many days as possible with these buckets, and use no other buckets."""
        days = {*self.days, *(day for of in self.weighted for day in days_of(of))}
        largest_first = sorted((of for of in usable if days.issuperset(days_of(of))), reverse=True)
        chosen = []
        for of in largest_first:
            if days.issuperset(days_of(of)):
                chosen.append(of)
                days.difference_update(days_of(of))
        in_time = sorted(chosen, key=lambda of: days_of(of).start)
        return replace(self, days=tuple(sorted(days)), weighted=tuple(in_time))


def days_of(bucket: Bucket) -> range:
    """The days since 1970 of a bucket."""
    level, number = bucket
    size = bucket_days(level)
    return range(number * size, (number + 1) * size)


def read_state(
    connection: Connection,
    campaign_id: int,
    sample_type_id: int,
    *,
    first: int,
    end: int,
    hours_from: int = 0,
) -> State:
    """Read the state of the hours [first, end) in a snapshot; the caller sets `hours_from` from its retention."""
    built: dict[tuple[int, bool], dict[Bucket, Built]] = defaultdict(dict)
    waiting, without_daily_rollup, changes = set(), set(), {}
    given = {
        "campaign": campaign_id,
        "sample_type": sample_type_id,
        "first": day_of(first // HOURS_A_DAY),
        "last": day_of(max(end - 1, first) // HOURS_A_DAY),
    }
    for kind, stacks, is_so, level, bucket, number, day in connection.execute(_STATE, given):
        if kind == _WAITING:
            waiting.add(day_number(day))
        elif kind == _DAY:
            changes[day_number(day)] = number
            if is_so:
                without_daily_rollup.add(day_number(day))
        else:
            built[kind, stacks][level, bucket] = Built(number, is_so)
    return State(built, frozenset(waiting), hours_from, frozenset(without_daily_rollup), changes)


_WAITING, _DAY = -1, 0
"""Values of `kind` in place of a cube's id: days with queue entries, and days with cells. For the latter the flag means
that the day has no daily rollup."""
# One statement: on a busy machine each statement waits milliseconds to be scheduled.
_STATE = union_all(
    select(
        rollup_long_built.c.cube.label("kind"),
        rollup_long_built.c.stacks,
        rollup_long_built.c.merged,
        rollup_long_built.c.level,
        rollup_long_built.c.bucket,
        rollup_long_built.c.made_of,
        null().cast(Date).label("day"),
    ).where(
        rollup_long_built.c.campaign_id == bindparam("campaign"),
        rollup_long_built.c.sample_type_id == bindparam("sample_type"),
    ),
    select(
        literal(_WAITING),
        null().cast(Boolean),
        null().cast(Boolean),
        literal(0),
        literal(0),
        null().cast(BigInteger),
        rollup_queue.c.day,
    )
    .where(rollup_queue.c.day.between(bindparam("first"), bindparam("last")))
    .distinct(),
    select(
        literal(_DAY),
        null().cast(Boolean),
        rollup_day.c.rolled_up_at.is_(None),
        literal(0),
        literal(0),
        rollup_day.c.changes,
        rollup_day.c.day,
    ).where(rollup_day.c.day.between(bindparam("first"), bindparam("last"))),
)


def cover(state: State, first: int, end: int) -> Cover:
    """Cover the hours [first, end) since 1970 UTC with days and hours.

    A whole day is covered by its day cells, or by its hours if it has no daily rollup. A partial day is covered by its
    hours where these are kept.
    """
    first_day, end_day = -(-first // HOURS_A_DAY), end // HOURS_A_DAY
    if first_day >= end_day:  # no whole day
        return cover_by_hour(state, first, end)
    whole = range(first_day, end_day)
    edges = [(first, first_day * HOURS_A_DAY), (end_day * HOURS_A_DAY, end)]
    return _part_days(state, edges, whole)


def cover_by_hour(state: State, first: int, end: int) -> Cover:
    """Cover each of the hours [first, end) since 1970 UTC with its cells; the rest are hours that may be dropped."""
    return _part_days(state, [(first, end)], ())


def _part_days(state: State, edges: list[tuple[int, int]], whole: Collection[int]) -> Cover:
    hours = [
        hour
        for day in whole
        if day in state.without_daily_rollup
        for hour in range(day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY)
    ]
    rest: list[tuple[int, int]] = []
    for first, end in edges:
        kept_from = min(max(first, state.hours_from), end)
        if first < kept_from:
            rest.append((first, kept_from))
        hours += range(kept_from, end)
    days = tuple(day for day in whole if day not in state.without_daily_rollup)
    return Cover(tuple(sorted(hours)), days, rest=tuple(rest))
