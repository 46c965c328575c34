"""GIVEN coefficients and their covariance WHEN a ratio is asked THEN its ends are where a test just refutes it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.dvfs.terms import Terms

NUMBERS = st.floats(-3, 3)


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=10, max_size=10), st.floats(1, 60))
def test_ends_of_a_ratio_are_just_refuted(numbers: list[float], df: float) -> None:
    value, over, under = (np.array(numbers[place : place + 2]) for place in (0, 2, 4))
    root = np.array(numbers[6:]).reshape(2, 2) / 10
    terms = Terms(value, root @ root.T, df)
    assume(abs(under @ value) > 0.01)
    found = terms.ratio(over, under)
    assert found.value == pytest.approx(over @ value / (under @ value))
    assert found.lo <= found.value <= found.hi
    if np.isinf(found.hi):
        assert found.lo == -np.inf
        return
    limit = stats.t.ppf(0.975, df)
    for end in (found.lo, found.hi):
        row = over - end * under
        error = np.sqrt(row @ terms.covariance @ row)
        assert abs(row @ value) == pytest.approx(limit * error, abs=1e-6)


def test_nothing_bounds_what_could_be_divided_by_nothing() -> None:
    unsure = Terms(np.array([1.0, 1.0]), np.diag([0.01, 1.0]), 10)
    assert unsure.ratio([1, 0], [0, 1]).hi == np.inf
    assert unsure.ratio([0, 1], [1, 0]).hi < np.inf


def test_without_degrees_of_freedom_everything_is_open() -> None:
    alone = Terms(np.array([3.0, 1.0]), np.zeros((2, 2)), 0)
    assert (alone.of([1, 1]).value, alone.of([1, 1]).lo, alone.of([1, 1]).hi) == (4, -np.inf, np.inf)
    assert (alone.ratio([1, 0], [0, 1]).value, alone.ratio([1, 0], [0, 1]).hi) == (3, np.inf)


def test_a_sum_has_students_interval() -> None:
    terms = Terms(np.array([3.0, 1.0]), np.diag([4.0, 9.0]), 5)
    half = stats.t.ppf(0.975, 5) * np.sqrt(4 + 9)
    assert terms.of([1, -1]).hi == pytest.approx(2 + half)
