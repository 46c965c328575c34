"""GIVEN throughputs in pairs WHEN a slowdown is estimated THEN drift cancels, bursts do not decide, and limits hold."""

import numpy as np
import pytest

from benchmarks.overhead.paired import slowdown


def pairs(loss: float, seed: int, count: int = 60) -> tuple[list[float], list[float]]:
    """A machine that drifts by a third, with 1 % of noise and a neighbour's burst in every tenth slice."""
    random = np.random.default_rng(seed)
    drift = 1000 * (1 + np.cumsum(random.normal(0, 0.02, count)).clip(-0.3, 0.3))

    def slices(rate: float) -> list[float]:
        burst = np.where(random.random(count) < 0.1, random.uniform(0.2, 0.9, count), 1.0)
        return list(drift * rate * burst * random.normal(1, 0.01, count))

    return slices(1.0), slices(1.0 - loss)


def test_a_loss_is_found_under_drift_and_bursts() -> None:
    found = [slowdown(*pairs(0.05, seed)) for seed in range(40)]
    assert np.mean([one.value for one in found]) == pytest.approx(0.05, abs=0.004)
    assert np.mean([one.upper >= 0.05 for one in found]) >= 0.85
    assert np.mean([one.lower <= 0.05 for one in found]) >= 0.85


def test_no_loss_is_no_loss() -> None:
    found = [slowdown(*pairs(0.0, seed)) for seed in range(40)]
    assert abs(np.mean([one.value for one in found])) < 0.004
    assert np.mean([one.lower <= 0 <= one.upper for one in found]) >= 0.75


def test_noise_widens_the_limits() -> None:
    random = np.random.default_rng(3)
    calm, wild = (
        slowdown(list(random.normal(100, deviation, 50)), list(random.normal(99, deviation, 50)))
        for deviation in (0.5, 5)
    )
    assert wild.upper - wild.lower > 4 * (calm.upper - calm.lower)
    assert wild.spread > 4 * calm.spread


def test_too_few_pairs_say_nothing() -> None:
    with pytest.raises(ValueError, match="five pairs"):
        slowdown([1.0] * 4, [1.0] * 4)
