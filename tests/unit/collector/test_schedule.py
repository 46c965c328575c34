"""GIVEN the collector's clock WHEN rounds and moments are computed THEN every collector agrees on them."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collector.schedule import round_at, round_start, scatter

moments = st.floats(1.6e9, 2.8e9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@given(moments, st.sampled_from([1.0, 10.0, 60.0, 90.5, 28_800.0]))
def test_a_moment_lies_in_its_round(moment, period):
    number = round_at(moment, period)
    slack = timedelta(microseconds=1)
    assert round_start(number, period) - slack <= moment < round_start(number + 1, period) + slack


@given(moments, st.floats(0.25, 100_000))
def test_a_round_begins_in_itself(moment, period):
    """Its beginning may lie between two microseconds: rounded down it was of the round before, and its draw was left out."""
    number = round_at(moment, period)
    begins = round_start(number, period)
    assert round_at(begins, period) == number
    assert abs((begins - moment).total_seconds()) <= period + 1e-6


@given(st.integers(0, 60), st.integers(0, 2**32))
def test_visits_are_spread_one_a_slot(count, seed):
    start = datetime(2026, 11, 21, tzinfo=UTC)
    end = start + timedelta(seconds=60)
    drawn = scatter(count, start, end, np.random.default_rng(seed))
    assert all(start <= moment <= end for moment in drawn)
    slots = sorted(int((moment - start) / (end - start) * count) for moment in drawn)
    assert all(abs(slot - place) <= 1 for place, slot in enumerate(slots))


def test_each_visit_is_uniform_over_the_round():
    start = datetime(2026, 11, 21, tzinfo=UTC)
    random = np.random.default_rng(3)
    first = [
        (scatter(4, start, start + timedelta(seconds=1), random)[0] - start).total_seconds()
        for _ in range(4_000)
    ]
    counts, _ = np.histogram(first, bins=8, range=(0, 1))
    assert ((counts - 500) ** 2 / 500).sum() < 24.3, "χ² with 7 degrees of freedom at 0.001"


def test_a_round_that_is_over_has_its_visits_at_once():
    start = datetime(2026, 11, 21, tzinfo=UTC)
    assert scatter(2, start, start - timedelta(seconds=5), np.random.default_rng(0)) == [start, start]
