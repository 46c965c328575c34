"""GIVEN a share by values on two sides WHEN its change is taken apart THEN the parts add up to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.movers.decomposition import decompose


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_mix_and_within_add_up(seed: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.gamma(1, 100, (2, 3, values)) * (rng.random((2, 3, values)) < 0.8)
    x[:, :, 0] += 1
    y = x * rng.random((2, 3, values))
    found = decompose(y[0], x[0], y[1], x[1])
    m, s = x / x.sum(axis=2, keepdims=True), np.divide(y, x, out=np.zeros(y.shape), where=x > 0)
    both = (x > 0).all(axis=0)
    within = np.where(both, m.mean(axis=0) * (s[0] - s[1]), 0).sum(axis=1)
    assert found.delta == pytest.approx(
        y[0].sum(axis=1) / x[0].sum(axis=1) - y[1].sum(axis=1) / x[1].sum(axis=1)
    )
    assert found.mix.sum(axis=1) + within == pytest.approx(found.delta)


def test_a_value_that_is_new_is_all_mix() -> None:
    found = decompose(
        np.array([[5.0, 10.0]]), np.array([[50.0, 50.0]]), np.array([[10.0, 0.0]]), np.array([[100.0, 0.0]])
    )
    assert found.delta == pytest.approx([0.05])
    assert found.mix.sum() == pytest.approx(0.05)
    assert found.within == pytest.approx(np.zeros((1, 2)))


def test_what_all_changed_alike_explains_nothing() -> None:
    x = np.array([[60.0, 40.0]])
    found = decompose(2 * np.array([[6.0, 1.0]]), x, np.array([[6.0, 1.0]]), x)
    assert found.mix == pytest.approx(np.zeros((1, 2)))
    assert found.within == pytest.approx(np.zeros((1, 2)))


def test_what_one_changed_is_its_own() -> None:
    x = np.array([[60.0, 40.0]])
    found = decompose(np.array([[6.0, 4.0]]), x, np.array([[6.0, 2.0]]), x)
    assert found.within[0, 1] == pytest.approx(found.delta[0])
    assert found.within[0, 0] < 0
