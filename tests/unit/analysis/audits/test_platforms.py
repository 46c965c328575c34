"""GIVEN one application's counters on two platforms WHEN they are compared THEN what differs is marked, and odd events too."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.audits.platforms import side_by_side
from analysis.errors import BadShape
from analysis.ratios import Ratios
from tests.unit.analysis.test_ratios import of_dense


def counters(rng: np.random.Generator, per_instruction: list[float], visits: int = 80) -> Ratios:
    instructions = rng.gamma(3, 1e9, (visits, 1)) * np.ones((1, len(per_instruction)))
    rate = np.array(per_instruction) * rng.gamma(40, 1 / 40, (visits, len(per_instruction)))
    return of_dense(instructions * rate, instructions)


def test_counters_that_differ_are_marked() -> None:
    """Cycles alike, cache misses half, an event that counts something else, and one that never happens."""
    rng = np.random.default_rng(0)
    found = side_by_side(counters(rng, [1.5, 0.010, 0.0002, 0.0]), counters(rng, [1.5, 0.005, 0.02, 0.3]))
    assert found.factor[:3] == pytest.approx([1, 0.5, 100], rel=0.1)
    assert found.significant.tolist() == [False, True, True, False]
    assert found.suspect.tolist() == [False, False, True, False]
    assert found.known.tolist() == [True, True, True, False]
    assert np.isnan(found.factor[3])
    assert found.p[3] == 1
    assert (found.lo[:3] <= found.factor[:3]).all()


def test_alike_is_seldom_called_different() -> None:
    rng = np.random.default_rng(1)
    false = sum(
        side_by_side(counters(rng, [1, 2, 3]), counters(rng, [1, 2, 3])).significant.any() for _ in range(100)
    )
    assert false <= 12


def test_a_factor_has_its_interval() -> None:
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        found = side_by_side(counters(rng, [2.0], 30), counters(rng, [3.0], 30))
        inside += found.lo[0] <= 1.5 <= found.hi[0]
    assert inside / 200 >= 0.92


def test_a_heavy_visit_marks_a_certain_factor_and_does_not_hide_it() -> None:
    """Most of one side is one visit's: fewer than three visits contribute, yet 300 show that CPI differs."""
    rng = np.random.default_rng(5)
    weight = np.where(np.arange(300) == 7, 300.0, 1.0)[:, None]
    sides = [
        of_dense(
            cpi * (work := weight * rng.gamma(50, 1e7, (300, 1))) * rng.gamma(400, 1 / 400, (300, 1)), work
        )
        for cpi in (1.0, 0.7)
    ]
    assert sides[0].low_confidence[0]
    found = side_by_side(*sides)
    assert found.p[0] < 1e-4
    assert found.significant[0]
    assert found.low_confidence[0]


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.floats(0.5, 2), min_size=1, max_size=12),
    st.integers(1, 40),
    st.integers(1, 40),
)
def test_a_counter_is_marked_if_and_only_if_its_interval_excludes_one(
    seed: int, factors: list[float], first: int, second: int
) -> None:
    rng = np.random.default_rng(seed)
    found = side_by_side(counters(rng, [1.0] * len(factors), first), counters(rng, factors, second))
    assert (found.significant == ((found.lo > 1) | (found.hi < 1))).all()
    discovered = stats.false_discovery_control(found.p) <= 0.05
    assert (found.significant == discovered).all()
    assert 0.95 <= found.level < 1


def test_a_single_visit_says_nothing() -> None:
    rng = np.random.default_rng(3)
    found = side_by_side(counters(rng, [1.0], 1), counters(rng, [50.0]))
    assert not found.significant[0]
    assert not found.suspect[0]
    assert (found.lo[0], found.hi[0]) == (pytest.approx(0, abs=1e-200), np.inf) or found.hi[0] > 1e200


def test_counters_have_to_be_the_same() -> None:
    rng = np.random.default_rng(4)
    with pytest.raises(BadShape):
        side_by_side(counters(rng, [1.0]), counters(rng, [1.0, 2.0]))
