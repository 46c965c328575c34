"""Which cells make up a range of time: as few as there can be, each hour in exactly one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Date, bindparam, literal, null, select, union_all

from storage.rolling.cubes import HOURS_A_DAY, WEIGHTED_LEVELS, Cube, bucket_days, day_number
from storage.schema import roll_built, roll_day, roll_queue


@dataclass(frozen=True, slots=True)
class State:
    """What there is of a cube, at the moment of a snapshot."""

    cube: Cube
    built: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By weighted level: buckets that hold all there is."""
    waiting: frozenset[int] = frozenset()
    """Days with entries in the queue: their visits change the weights, so no bucket with them is taken."""
    hours_from: int = 0
    """The first hour whose cells are surely kept; of earlier days only those that are not folded have any."""
    unfolded: frozenset[int] = frozenset()
    """Days that have no cells but those of their hours."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Disjoint parts of a range; what cells cannot tell is the rest."""

    hours: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weighted: tuple[tuple[int, int], ...] = ()
    """(level, bucket), ascending in time."""
    rest: tuple[tuple[int, int], ...] = ()
    """Ranges of hours [first, end) of which there are no cells: to be read from the chunks."""


def read_state(connection: Connection, cube: Cube, *, hours_from: int = 0) -> State:
    """The state by a snapshot; `hours_from` is for the caller to know from what it keeps."""
    built: dict[int, set[int]] = {level: set() for level in WEIGHTED_LEVELS}
    of_days: dict[int, set[int]] = {_WAITING: set(), _UNFOLDED: set()}
    for level, bucket, day in connection.execute(_STATE, {"cube": cube.id}):
        if level in of_days:
            of_days[level].add(day_number(day))
        else:
            built.setdefault(level, set()).add(bucket)
    return State(
        cube,
        {level: frozenset(buckets) for level, buckets in built.items()},
        frozenset(of_days[_WAITING]),
        hours_from,
        frozenset(of_days[_UNFOLDED]),
    )


_WAITING, _UNFOLDED = -1, -2
"""In place of a level: days with entries in the queue, and days without cells of the whole day."""
# One statement: on a busy machine each costs milliseconds of waiting for its turn.
_STATE = union_all(
    select(roll_built.c.level, roll_built.c.bucket, null().cast(Date).label("day")).where(
        roll_built.c.cube == bindparam("cube")
    ),
    select(literal(_WAITING), literal(0), roll_queue.c.day).distinct(),
    select(literal(_UNFOLDED), literal(0), roll_day.c.day).where(roll_day.c.folded_at.is_(None)),
)


def cover(state: State, first: int, end: int, *, weighted: bool = True) -> Cover:
    """The hours [first, end) since 1970 UTC in the fewest parts; `weighted` allows buckets of many days.

    Whole days are days or buckets, or their hours while they are not folded; of a day asked for in part
    its hours are taken where they are kept.
    """
    first_day, end_day = -(-first // HOURS_A_DAY), end // HOURS_A_DAY
    if first_day >= end_day:  # no whole day
        return _part_days(state, [(first, end)], [], ())
    whole, buckets = _whole_days(state, first_day, end_day, weighted=weighted)
    edges = [(first, first_day * HOURS_A_DAY), (end_day * HOURS_A_DAY, end)]
    return _part_days(state, edges, whole, tuple(buckets))


def cover_by_hour(state: State, first: int, end: int) -> Cover:
    """The hours [first, end) since 1970 UTC, each in its own cells; those that are not surely kept are the rest."""
    return _part_days(state, [(first, end)], [], ())


def _whole_days(
    state: State, first: int, end: int, *, weighted: bool
) -> tuple[list[int], list[tuple[int, int]]]:
    whole: list[int] = []
    buckets: list[tuple[int, int]] = []
    at = first
    while at < end:
        for level in reversed(WEIGHTED_LEVELS) if weighted else ():
            size = bucket_days(level)
            if at % size == 0 and at + size <= end and _usable(state, level, at // size):
                buckets.append((level, at // size))
                at += size
                break
        else:
            whole.append(at)
            at += 1
    return whole, buckets


def _usable(state: State, level: int, bucket: int) -> bool:
    size = bucket_days(level)
    there = bucket in state.built.get(level, frozenset())
    return there and state.waiting.isdisjoint(range(bucket * size, (bucket + 1) * size))


def _part_days(
    state: State,
    edges: list[tuple[int, int]],
    whole: list[int],
    buckets: tuple[tuple[int, int], ...],
) -> Cover:
    hours = [
        hour
        for day in whole
        if day in state.unfolded
        for hour in range(day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY)
    ]
    rest: list[tuple[int, int]] = []
    for first, end in edges:
        kept_from = min(max(first, state.hours_from), end)
        if first < kept_from:
            rest.append((first, kept_from))
        hours += range(kept_from, end)
    days = tuple(day for day in whole if day not in state.unfolded)
    return Cover(tuple(sorted(hours)), days, buckets, tuple(rest))
