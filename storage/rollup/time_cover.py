"""Which cells make up a range of time: as few as there can be, each hour in exactly one of them."""

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
    """What is known of a bucket without reading it."""

    made_of: int
    """Fingerprint (`made_of`) of its days when it was made."""
    merged: bool
    """It is written; else there are too many rows in it."""


@dataclass(frozen=True, slots=True)
class State:
    """What there is of the cells of a campaign's event, at the moment of a snapshot."""

    built: Mapping[tuple[int, bool], Mapping[Bucket, Built]] = field(default_factory=dict)
    """By cube id and depth."""
    waiting: frozenset[int] = frozenset()
    """Days with entries in the queue: their visits change the weights, so no bucket with them is taken."""
    hours_from: int = 0
    """The first hour whose cells are surely kept; of earlier days only those that are without a daily rollup have any."""
    without_daily_rollup: frozenset[int] = frozenset()
    """Days that have no cells but those of their hours."""
    changes: Mapping[int, int] = field(default_factory=dict)
    """How often the cells of each day were written."""

    def candidates(self, source: Source, first: int, end: int) -> dict[Bucket, int]:
        """The written buckets within the hours [first, end) of whose days nothing waits, and what they were made of."""
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
    """Disjoint parts of a range; what cells cannot tell is the rest."""

    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weighted: tuple[Bucket, ...] = ()
    """(level, bucket), ascending in time."""
    rest: tuple[tuple[int, int], ...] = ()
    """Ranges of hours [first, end) of which there are no cells: to be read from the chunks."""

    def in_buckets(self, usable: Collection[Bucket]) -> "Cover":
        """The same with as many days as possible in these buckets, and no others."""
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
    """The state of the hours [first, end) by a snapshot; `hours_from` is for the caller to know from what it keeps."""
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
"""In place of a cube's id: days with entries in the queue, and days with cells, which is so if they are without a daily rollup."""
# One statement: on a busy machine each costs milliseconds of waiting for its turn.
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
    """The hours [first, end) since 1970 UTC as days and hours.

    Whole days are days, or their hours while they are without a daily rollup; of a day asked for in part its hours are taken where they
    are kept.
    """
    first_day, end_day = -(-first // HOURS_A_DAY), end // HOURS_A_DAY
    if first_day >= end_day:  # no whole day
        return cover_by_hour(state, first, end)
    whole = range(first_day, end_day)
    edges = [(first, first_day * HOURS_A_DAY), (end_day * HOURS_A_DAY, end)]
    return _part_days(state, edges, whole)


def cover_by_hour(state: State, first: int, end: int) -> Cover:
    """The hours [first, end) since 1970 UTC, each in its own cells; those that are not surely kept are the rest."""
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
