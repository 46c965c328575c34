"""Covers are partitions: every hour once, in as few parts as the built buckets allow."""

from hypothesis import given
from hypothesis import strategies as st

from storage.rolling.cover import Cover, State, cover
from storage.rolling.cubes import EVENT, bucket_days

DAY = 20_000
BUILT = st.fixed_dictionaries(
    {
        level: st.frozensets(
            st.integers(DAY // bucket_days(level) - 3, DAY // bucket_days(level) + 3).map(int), max_size=7
        )
        for level in (1, 2, 3)
    }
)


def hours_of(part: Cover) -> list[int]:
    hours = list(part.hours)
    hours += [h for day in part.days for h in range(24 * day, 24 * day + 24)]
    for level, bucket in part.weighted:
        size = 24 * bucket_days(level)
        hours += range(bucket * size, (bucket + 1) * size)
    for first, end in part.rest:
        hours += range(first, end)
    return sorted(hours)


HOURS = st.integers(24 * (DAY - 80), 24 * (DAY + 80))
STATES = st.builds(
    State,
    st.just(EVENT),
    BUILT,
    st.frozensets(st.integers(DAY - 100, DAY + 100), max_size=3),
    HOURS,
    st.frozensets(st.integers(DAY - 100, DAY + 100), max_size=9),
)


@given(STATES, HOURS, st.integers(0, 24 * 150))
def test_every_hour_is_in_exactly_one_part(state: State, first: int, length: int) -> None:
    part = cover(state, first, first + length)
    assert hours_of(part) == list(range(first, first + length))
    for level, bucket in part.weighted:
        size = bucket_days(level)
        assert bucket in state.built[level]
        assert state.waiting.isdisjoint(range(bucket * size, (bucket + 1) * size))
    assert all(hour >= state.hours_from or hour // 24 in state.unfolded for hour in part.hours)
    assert state.unfolded.isdisjoint(part.days)
    assert cover(state, first, first + length, weighted=False).weighted == ()


def test_a_range_with_all_buckets_takes_the_largest_that_fit() -> None:
    built = {level: frozenset(range(1, 400 * 64)) for level in (1, 2, 3)}
    first = 64 * 10 - 4 - 2
    part = cover(State(EVENT, built), first * 24 - 1, (64 * 11 + 16) * 24 + 2)
    assert part == Cover(
        hours=(first * 24 - 1, (64 * 11 + 16) * 24, (64 * 11 + 16) * 24 + 1),
        days=(first, first + 1),
        weighted=((1, 159), (3, 10), (2, 44)),
    )


def test_a_day_that_is_not_folded_is_its_hours() -> None:
    state = State(EVENT, unfolded=frozenset({DAY + 1}), hours_from=24 * (DAY + 5))
    part = cover(state, 24 * DAY, 24 * (DAY + 3))
    assert part == Cover(hours=tuple(range(24 * (DAY + 1), 24 * (DAY + 2))), days=(DAY, DAY + 2))


def test_a_day_asked_for_in_part_is_left_to_the_chunks_where_there_are_no_hours() -> None:
    part = cover(State(EVENT, hours_from=24 * (DAY + 3)), 24 * DAY + 3, 24 * (DAY + 2) + 5)
    assert part == Cover(
        days=(DAY + 1,), rest=((24 * DAY + 3, 24 * (DAY + 1)), (24 * (DAY + 2), 24 * (DAY + 2) + 5))
    )
