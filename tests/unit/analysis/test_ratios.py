"""GIVEN visits' counters WHEN ratios of sums are asked THEN they are of sums, and their intervals hold the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import estimate, moments
from analysis.errors import BadShape, NotANumber
from analysis.ratios import Ratios, of_sums, scaled
from analysis.weights import CLASSES, equal
from tests.unit.analysis.frames import made


def of_dense(y: np.ndarray, x: np.ndarray) -> Ratios:
    """From (visits, rows) of one stratum; pairs without x are left out."""
    visits, rows = y.shape
    visit, row = np.nonzero(x)
    return of_sums(
        np.ones(visits),
        np.zeros(visits, np.int64),
        equal(np.array([float(visits)])),
        row=row,
        visit=visit,
        y=y[visit, row],
        x=x[visit, row],
        rows=rows,
    )


def test_a_ratio_is_of_sums() -> None:
    found = of_dense(np.array([[10.0], [4000.0]]), np.array([[20.0], [1000.0]]))
    assert found.value == pytest.approx([4010 / 1020])
    assert found.visits == [2]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_with_one_denominator_it_is_estimates_ratio(seed: int) -> None:
    """Differential: rows over the whole selection have a second implementation (analysis.estimate)."""
    case = made(seed, visits=30, rows=3, idle=0)
    visit, row = np.nonzero(case.y)
    common = estimate.ratios(
        moments.from_visits(
            case.weight,
            case.group,
            case.weights,
            x=case.x,
            row=row,
            visit=visit,
            y=case.y[visit, row],
            rows=3,
        )
    )
    every = np.indices(case.y.shape).reshape(2, -1)
    found = of_sums(
        case.weight,
        case.group,
        case.weights,
        row=every[1],
        visit=every[0],
        y=case.y.ravel(),
        x=case.x[every[0]],
        rows=3,
    )
    assert found.value == pytest.approx(common.value)
    # The same variance; degrees of freedom are by residuals here and by y there.
    seen = (found.value > 0) & (found.visits > 1)
    spread = [np.log(one.hi[seen] / one.value[seen]) for one in (found, common)]
    assert (spread[0] > 0).all() == (spread[1] > 0).all()


@pytest.mark.parametrize("visits", [20, 100])
def test_intervals_hold_the_truth(visits: int) -> None:
    """CPI of a fleet of skewed loads, in which busy machines have another CPI."""
    rng = np.random.default_rng(visits)
    load = rng.gamma(0.7, 1.0, 4000) + 0.05
    cpi = 1 + 0.5 * np.tanh(load) + rng.normal(0, 0.1, 4000)
    truth = (cpi * load).sum() / load.sum()
    inside = 0
    for _ in range(400):
        seen = rng.permutation(4000)[:visits]
        found = of_dense((cpi * load)[seen][:, None], load[seen][:, None])
        inside += found.lo[0] <= truth <= found.hi[0]
    assert 0.92 <= inside / 400 <= 0.98


def test_rows_nobody_has_seen_are_not_zero() -> None:
    found = of_dense(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert np.isnan([found.value[1], found.lo[1], found.hi[1]]).all()
    assert found.low_confidence.tolist() == [True, True]


def test_a_single_visit_bounds_nothing() -> None:
    found = of_dense(np.array([[3.0], [0.0]]), np.array([[2.0], [0.0]]))
    assert (found.value[0], found.lo[0], found.hi[0]) == (1.5, 0, np.inf)
    assert found.low_confidence[0]


def test_a_stratum_alone_has_no_narrow_interval() -> None:
    found = of_sums(
        np.ones(3),
        np.arange(3) * CLASSES,
        equal(np.ones(3)),
        row=np.zeros(3, np.int64),
        visit=np.arange(3),
        y=np.array([1.0, 2.0, 3.0]),
        x=np.ones(3),
        rows=1,
    )
    assert found.lo[0] < found.value[0] < found.hi[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_values_lie_in_their_intervals_and_units_scale(seed: int, visits: int) -> None:
    rng = np.random.default_rng(seed)
    y, x = rng.gamma(1, 1, (visits, 3)), rng.gamma(1, 1, (visits, 3)) * (rng.random((visits, 3)) < 0.7)
    found, thousand = of_dense(y, x), of_dense(1000 * y, x)
    known = ~np.isnan(found.value)
    assert (found.lo[known] <= found.value[known] + 1e-12).all()
    assert (found.value[known] <= found.hi[known] + 1e-12).all()
    assert thousand.lo[known] == pytest.approx(1000 * found.lo[known])
    assert thousand.hi[known] == pytest.approx(1000 * found.hi[known])


def test_what_cannot_be() -> None:
    with pytest.raises(NotANumber):
        of_dense(np.array([[np.nan]]), np.array([[1.0]]))
    with pytest.raises(NotANumber):
        of_dense(np.array([[1.0]]), np.array([[-1.0]]))
    zeros, ones = np.zeros(1, np.int64), np.ones(1)
    with pytest.raises(BadShape):
        of_sums(ones, zeros, equal(ones), row=zeros, visit=zeros + 1, y=ones, x=ones, rows=1)
    with pytest.raises(BadShape):
        of_sums(ones, zeros, equal(ones), row=zeros, visit=zeros, y=ones, x=np.ones(2), rows=1)


def test_counters_that_ran_a_part_of_the_time() -> None:
    found = scaled(np.array([10.0, 10.0, 0.0]), np.array([8.0, 8.0, 8.0]), np.array([8.0, 2.0, 0.0]))
    assert found[:2] == pytest.approx([10, 40])
    assert np.isnan(found[2])
    with pytest.raises(NotANumber):
        scaled(np.array([1.0]), np.array([5.0]), np.array([6.0]))


def test_what_nobody_has_seen_is_not_surely_nothing() -> None:
    found = of_dense(np.zeros((20, 1)), np.ones((20, 1)))
    assert (found.value[0], found.lo[0], found.hi[0]) == (0, 0, np.inf)
