"""GIVEN rounds, pauses and a selection WHEN its covered time is asked THEN it is counted as minute by minute."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from storage.query.estimation.covered_time import HOUR_S, CoveredTime, Runs, covered_in

NO_RUNS = Runs(np.zeros(0), np.zeros(0))
minutes = st.integers(0, 480)
runs_ = st.lists(st.tuples(minutes, st.integers(1, 240)).map(lambda run: (run[0], sum(run))), max_size=4)


def hours(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def of_minutes(runs: list[tuple[int, int]]) -> Runs:
    begins, ends = np.array(runs, np.float64).reshape(-1, 2).T * 60
    return Runs(begins, np.sort(ends)[::-1])


def test_hours_of_a_day_are_covered_as_they_were():
    time = covered_in(hours(23, 24, 47, 48), NO_RUNS, 23.5 * HOUR_S, 48.5 * HOUR_S)
    assert time.of_days(np.array([1])).seconds.tolist() == [HOUR_S, HOUR_S]
    assert time.of_days(np.array([0, 2])).seconds.tolist() == [HOUR_S / 2, HOUR_S / 2]
    assert time.of_days(np.array([1])).hour.tolist() == [24, 47]


def test_what_follows_a_pause_stands_for_the_time_since_then():
    """The last twenty seconds of an hour, and the one after it: not both whole."""
    begins = 8 * HOUR_S - 20
    time = covered_in(hours(7, 8), of_minutes([(0, 60)]), 0, 9 * HOUR_S)
    assert time.seconds.tolist() == [HOUR_S, HOUR_S], "nothing is known of their rounds"
    runs = Runs(np.array([0.0, begins]), np.array([HOUR_S, 9.0 * HOUR_S]))
    time = covered_in(hours(7, 8), runs, 0, 8 * HOUR_S + 660)
    assert time.seconds.tolist() == [20, 660]
    assert (time.begin, time.until, time.seconds.sum()) == (begins, 8 * HOUR_S + 660, 680)


def test_a_selection_without_covered_time_has_no_seconds():
    nothing = covered_in(hours(), of_minutes([(0, 60)]), 0, HOUR_S)
    assert (nothing.begin, nothing.seconds.tolist()) == (HOUR_S, [])
    assert nothing.within(np.array([0.0]), np.array([60.0])).tolist() == [0]
    future = covered_in(hours(30), NO_RUNS, 30 * HOUR_S, 10 * HOUR_S)
    assert (len(future.low), future.seconds.tolist()) == (0, [0])


@given(
    st.sets(st.integers(0, 8)),
    runs_,
    st.tuples(minutes, minutes),
    st.lists(st.tuples(minutes, minutes), max_size=5),
)
@example({0, 1, 2}, [(30, 90), (90, 100), (80, 170)], (10, 160), [(0, 60), (95, 170)])
def test_covered_time_is_counted_minute_by_minute(
    active: set[int], runs: list[tuple[int, int]], asked: tuple[int, int], ranges: list[tuple[int, int]]
):
    begin, until = sorted(asked)
    low, high = begin // 60, -(-until // 60)
    within = np.array(sorted(hour for hour in active if low <= hour < high), np.int64)
    time = covered_in(within, of_minutes(runs), begin * 60.0, until * 60.0)
    of_rounds = {minute for run in runs for minute in range(*run)}
    found = set()
    for hour in within.tolist():
        whole = set(range(hour * 60, hour * 60 + 60))
        found |= (whole & of_rounds or whole) & set(range(begin, until))
    assert time.seconds.tolist() == [60.0 * sum(m // 60 == hour for m in found) for hour in within.tolist()]
    assert time.seconds.sum() == 60.0 * len(found)
    edges = np.array([sorted(pair) for pair in ranges], np.float64).reshape(-1, 2) * 60
    expected = [60.0 * sum(first <= 60 * minute < last for minute in found) for first, last in edges.tolist()]
    assert time.within(edges[:, 0], edges[:, 1]).tolist() == expected
    assert time.begin == 60.0 * min(found, default=until)


def test_pieces_of_days_add_up():
    time = covered_in(hours(22, 23, 24, 25), of_minutes([(1350, 1500)]), 0, 26 * HOUR_S)
    parts = [time.of_days(np.array([day])) for day in (0, 1)]
    assert all(isinstance(part, CoveredTime) for part in parts)
    assert [part.seconds.sum() for part in parts] == [90 * 60, 60 * 60 + HOUR_S], (
        "of the last hour nothing is known"
    )
