"""Covers are partitions: every hour once, in as few parts as the built buckets allow."""

from hypothesis import given
from hypothesis import strategies as st

from storage.rollup.cubes import EVENT, Source, bucket_days
from storage.rollup.time_cover import Built, Cover, State, cover, days_of

DAY = 20_000
BUILT = st.dictionaries(
    st.sampled_from([(level, DAY // 4**level + n) for level in (1, 2, 3) for n in range(-3, 4)]),
    st.builds(Built, st.integers(0, 9), st.booleans()),
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
SOURCE = Source(EVENT, 1, True, 1)
STATES = st.builds(
    State,
    st.fixed_dictionaries({(EVENT.id, True): BUILT}),
    st.frozensets(st.integers(DAY - 100, DAY + 100), max_size=3),
    HOURS,
    st.frozensets(st.integers(DAY - 100, DAY + 100), max_size=9),
)


@given(STATES, HOURS, st.integers(0, 24 * 150))
def test_every_hour_is_in_exactly_one_part(state: State, first: int, length: int) -> None:
    plain = cover(state, first, first + length)
    assert plain.weighted == ()
    part = plain.in_buckets(state.candidates(SOURCE, first, first + length))
    for covered in (plain, part, part.in_buckets(())):
        assert hours_of(covered) == list(range(first, first + length))
        assert all(
            hour >= state.hours_from or hour // 24 in state.without_daily_rollup for hour in covered.hours
        )
        assert state.without_daily_rollup.isdisjoint(covered.days)
    for of in part.weighted:
        assert state.built[EVENT.id, True][of].merged
        assert state.waiting.isdisjoint(days_of(of))
    assert part.in_buckets(()) == plain


def test_a_range_with_all_buckets_takes_the_largest_that_fit() -> None:
    first = 64 * 10 - 4 - 2
    part = cover(State(), first * 24 - 1, (64 * 11 + 16) * 24 + 2)
    assert part.in_buckets({(level, n) for level in (1, 2, 3) for n in range(1, 300)}) == Cover(
        hours=(first * 24 - 1, (64 * 11 + 16) * 24, (64 * 11 + 16) * 24 + 1),
        days=(first, first + 1),
        weighted=((1, 159), (3, 10), (2, 44)),
    )


def test_a_day_that_is_not_folded_is_its_hours() -> None:
    state = State(without_daily_rollup=frozenset({DAY + 1}), hours_from=24 * (DAY + 5))
    part = cover(state, 24 * DAY, 24 * (DAY + 3))
    assert part == Cover(hours=tuple(range(24 * (DAY + 1), 24 * (DAY + 2))), days=(DAY, DAY + 2))


def test_a_day_asked_for_in_part_is_left_to_the_chunks_where_there_are_no_hours() -> None:
    part = cover(State(hours_from=24 * (DAY + 3)), 24 * DAY + 3, 24 * (DAY + 2) + 5)
    assert part == Cover(
        days=(DAY + 1,), rest=((24 * DAY + 3, 24 * (DAY + 1)), (24 * (DAY + 2), 24 * (DAY + 2) + 5))
    )
