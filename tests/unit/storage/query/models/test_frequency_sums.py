"""GIVEN samples of CPU time and of misses WHEN both are put together by visit and application THEN none of either is lost."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.models.frequency_sums import day_ranges, pairs_of
from storage.query.observed.time_used import TimeUsed, UnitsUsed

SEARCH, CACHE = 7, 9
NONE = np.zeros(0, np.int64)


def test_misses_without_a_sample_of_cpu_time_count() -> None:
    pairs = pairs_of(
        TimeUsed(np.array([2, 0, 0]), np.array([SEARCH, CACHE, SEARCH]), np.array([0.5, 0.25, 1.0])),
        UnitsUsed(np.array([1, 0]), np.array([SEARCH, SEARCH]), np.array([300.0, 100.0])),
    )
    assert pairs.visit.tolist() == [0, 0, 1, 2]
    assert pairs.application.tolist() == [SEARCH, CACHE, SEARCH, SEARCH]
    assert pairs.seconds.tolist() == [1.0, 0.25, 0.0, 0.5]
    assert pairs.misses.tolist() == [100.0, 0.0, 300.0, 0.0]


def test_the_ratio_of_sums_of_a_small_application_is_not_low() -> None:
    """A sample of either event a visit, on average, and 0.4 misses for each second."""
    rng = np.random.default_rng(0)
    seconds, misses = rng.poisson(1.0, 20_000), rng.poisson(1.0, 20_000)
    seen, missed = np.flatnonzero(seconds), np.flatnonzero(misses)
    pairs = pairs_of(
        TimeUsed(seen, np.full(len(seen), SEARCH), seconds[seen].astype(float)),
        UnitsUsed(missed, np.full(len(missed), SEARCH), misses[missed].astype(float)),
    )
    assert 0.4 * pairs.misses.sum() / pairs.seconds.sum() == pytest.approx(0.4, rel=0.05)


def test_nothing_sampled_makes_no_pairs() -> None:
    pairs = pairs_of(TimeUsed(NONE, NONE, np.zeros(0)), UnitsUsed(NONE, NONE, np.zeros(0)))
    assert len(pairs.visit) == len(pairs.seconds) == len(pairs.misses) == 0


@given(st.lists(st.integers(0, 24 * 400), max_size=60), st.integers(1, 20))
def test_ranges_of_days_hold_every_visit_once(hours: list[int], most: int) -> None:
    ranges = list(day_ranges(np.array(hours, np.int64), most))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    days = [(epoch + timedelta(hours=hour)).date() for hour in hours]
    for day in days:
        assert sum(first <= day <= last for first, last in ranges) == 1
    for first, last in ranges:
        held = sum(first <= day <= last for day in days)
        assert held > 0
        assert held <= most or first == last
