"""GIVEN visits in small strata WHEN they are resampled THEN they vary as much as they do."""

import numpy as np
import pytest

from analysis.movers.function_parts import Parts
from analysis.movers.resampling import ByValue, Visits


def side(rng: np.random.Generator, strata: np.ndarray, share: float, first: int) -> Parts:
    count = len(strata)
    seen = np.full(count, 1000.0)
    part = np.clip(rng.normal(share, share / 2, count), 0, 1)
    return Parts(
        np.arange(first, first + count),
        strata,
        np.ones(count),
        np.arange(count),
        np.zeros((count, 1), np.int64),
        part * seen,
        seen,
    )


@pytest.mark.slow
@pytest.mark.parametrize("strata", [np.repeat(np.arange(20), 2), np.arange(40), np.repeat([0, 1], 20)])
def test_intervals_of_small_strata_hold_the_change(strata: np.ndarray) -> None:
    """Strata of two visits seemed to vary half as much as they do, and those of one not at all."""
    rng = np.random.default_rng(0)
    inside, trials = 0, 600
    for _ in range(trials):
        now, before = side(rng, strata, 0.10, 0), side(rng, strata, 0.08, 10_000)
        visits, table = Visits.of(now, before), ByValue.of(now, before, 0)
        delta = np.concatenate([table.change(weights).delta for weights in visits.resampled(rng)])
        lo, hi = np.quantile(delta, [0.025, 0.975])
        inside += lo <= 0.02 <= hi
    assert inside >= 0.92 * trials


def test_a_stratum_of_one_visit_is_joined_with_the_smallest_other() -> None:
    rng = np.random.default_rng(1)
    strata = np.repeat([0, 1, 2], [5, 1, 3])
    group = Visits.of(side(rng, strata, 0.1, 0), side(rng, strata, 0.1, 100)).resampled_with
    now, before = group[:9], group[9:]
    assert len(set(now.tolist())) == 2
    assert now[5] == now[6] != now[0]
    assert not set(now.tolist()) & set(before.tolist())


def test_one_visit_a_side_stands_for_itself() -> None:
    rng = np.random.default_rng(2)
    visits = Visits.of(side(rng, np.array([0]), 0.1, 0), side(rng, np.array([0]), 0.1, 100))
    for in_now, in_before in visits.resampled(rng, 5):
        assert np.isfinite(in_now).all()
        assert np.isfinite(in_before).all()
