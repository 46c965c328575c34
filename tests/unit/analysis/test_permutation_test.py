"""Two-sided p-values and intervals from the same permutations."""

import numpy as np
import pytest

from analysis.permutation_test import Shuffled

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
