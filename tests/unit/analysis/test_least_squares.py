"""GIVEN observations WHEN they are fitted THEN every figure is what another program computes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.errors import BadShape, Constant, InsufficientData
from analysis.least_squares import fit


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_a_line_is_scipys(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(5, 2, n)
    y = 3 - 0.7 * x + rng.normal(0, 1, n)
    found, known = fit(x[:, None], y), stats.linregress(x, y)
    assert found.coefficients == pytest.approx([known.intercept, known.slope])
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([known.intercept_stderr, known.stderr])
    assert found.r2 == pytest.approx(known.rvalue**2)
    assert found.t_p[1] == pytest.approx(known.pvalue)
    assert found.f_p == pytest.approx(known.pvalue)


def test_residuals_left_out_are_those_of_a_fit_without_them() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (20, 2))
    y = 1 + x @ [2.0, -1.0] + rng.normal(0, 0.1, 20)
    y[4] += 0.4
    found = fit(x, y)
    marked = found.outliers(0.95)
    for place in range(20):
        others = np.delete(np.arange(20), place)
        alone = fit(x[others], y[others])
        gap = abs(y[place] - float(alone.at(x[place : place + 1])[0]))
        # A new observation outside of its interval by the others is one whose residual's interval misses 0.
        assert marked[place] == (gap > float(alone.half_width(x[place : place + 1])[0]))
    assert marked[4]


def test_intervals_hold_new_observations() -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(400):
        x = rng.normal(0, 1, (12, 1))
        y = 2 * x[:, 0] + rng.normal(0, 1, 12)
        new = rng.normal(0, 1, (1, 1))
        found = fit(x, y)
        inside += abs(2 * new[0, 0] + rng.normal() - found.at(new)[0]) <= found.half_width(new)[0]
    assert 0.92 <= inside / 400 <= 0.98


def test_a_perfect_fit() -> None:
    x = np.arange(6.0)
    found = fit(x[:, None], 2 * x + 1)
    assert (found.sigma, found.r2, found.f_p) == (0, 1, 0)
    assert not found.outliers(0.95).any()
    assert found.half_width(np.array([[9.0]])) == pytest.approx([0])


def test_a_mean_has_no_slopes() -> None:
    found = fit(np.zeros((4, 0)), np.array([1.0, 2, 3, 4]))
    assert found.coefficients == pytest.approx([2.5])
    assert found.f_p == 1


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(InsufficientData):
        fit(np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(Constant):
        fit(np.ones((5, 1)), np.arange(5.0))
    with pytest.raises(Constant):
        fit(np.column_stack([np.arange(5.0), 2 * np.arange(5.0)]), np.arange(5.0))
    with pytest.raises(BadShape):
        fit(np.zeros((5, 1)), np.zeros(4))
