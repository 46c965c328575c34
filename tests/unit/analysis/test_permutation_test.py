"""Two-sided p-values and intervals from the same permutations."""

import numpy as np
import pytest

from analysis import permutation_test
from analysis.permutation_test import Shuffled
from tests.unit.analysis.frames import table

SHUFFLES = 2_000


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12])
def test_permutations_that_tie_with_the_observation_are_as_extreme(noise):
    # One visit of eighteen differs, so each permutation's statistic is 1 or -1 but for the rounding of its sums.
    random = np.random.default_rng(1)
    signs = np.where(np.arange(SHUFFLES) % 2, 1.0, -1.0)
    statistics = (signs * (1 + noise * random.random(SHUFFLES)))[None, :]
    observed = Shuffled(
        delta=np.array([1 + 20 * noise]),
        error=np.ones(1),
        statistics=((np.zeros(1, np.int64), statistics),),
        least=np.array([0.001]),
    )
    assert observed.p == pytest.approx([1.0], abs=0.01)
    lo, hi = observed.interval(0.05)
    assert lo[0] <= 0 <= hi[0]


@pytest.mark.parametrize("seed", range(40))
def test_a_row_that_has_every_sample_on_both_sides_is_no_change(seed):
    # Its share is 1 in every permutation: the difference and its error are rounding.
    random = np.random.default_rng(seed)
    part = random.poisson(20, 24) + 1
    y = np.stack([part, part // 2], axis=1).astype(float)
    x = y[:, 0]
    found = permutation_test.test(
        permutation_test.pool(table(y[:12], x=x[:12]), table(y[12:], x=x[12:], key=np.arange(100, 112))),
        2_000,
        np.random.default_rng(seed),
    )
    lo, hi = found.interval(0.05)
    assert found.p[0] == 1
    assert lo[0] <= 0 <= hi[0]
