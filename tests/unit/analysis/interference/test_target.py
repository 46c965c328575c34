"""GIVEN training mixes WHEN a target's degradation is predicted THEN unseen mixes come near, and beat the baseline."""

import numpy as np
import pytest

from analysis.errors import BadShape, InsufficientData, NotANumber, NotEstimable
from analysis.interference.component_regression import PieceFit
from analysis.interference.pressure import Pressures
from analysis.interference.target import Target, fit_target
from tests.unit.analysis.interference.made_mixes import CUTS, Chip, chip


def trained(rng: np.random.Generator, made: Chip, count: int = 120, noise: float = 0.005) -> Target:
    """DIGEST I8: 120 random mixes with three others."""
    mixes = made.programs.of_mixes(made.mixes(rng, count))
    own = made.programs.of_mixes(np.array([[made.target]]))
    return fit_target(own, mixes, made.truth(mixes) + rng.normal(0, noise, count), CUTS)


def test_unseen_mixes_are_foretold_better_than_by_the_mean() -> None:
    rng = np.random.default_rng(0)
    off, plain, refused = [], [], 0
    for _ in range(10):
        made = chip(rng)
        target = trained(rng, made)
        mixes = made.programs.of_mixes(made.mixes(rng, 20))
        for c, b, truth in zip(mixes.cache, mixes.bandwidth, made.truth(mixes), strict=True):
            try:
                found = target.predict(c, b)
            except InsufficientData:
                refused += 1
                continue
            off.append(abs(found.degradation.value - truth))
            plain.append(abs(found.baseline - truth))
            assert found.degradation.lo <= found.degradation.value <= found.degradation.hi
            assert found.degradation.value == target.value(c, b)
    assert refused <= 4
    assert np.mean(off) < 0.02
    assert np.mean(off) < np.mean(plain) / 3


def test_a_target_says_how_well_it_fits() -> None:
    rng = np.random.default_rng(1)
    target = trained(rng, chip(rng))
    assert target.error < target.baseline_error
    assert target.observations == 120


def test_a_piece_below_the_targets_own_bandwidth_has_no_function() -> None:
    """DIGEST I3: milc, soplex, lbm."""
    rng = np.random.default_rng(2)
    made = chip(rng)
    heavy = Pressures(np.append(made.programs.cache, 30.0), np.append(made.programs.bandwidth, 4.0))
    target = trained(rng, Chip(heavy, 30, 0.1, 0.4))
    assert isinstance(target.pieces[0], InsufficientData)
    assert isinstance(target.pieces[1], PieceFit)
    with pytest.raises(NotANumber, match="own"):
        target.predict(31.0, 3.0)


def test_few_mixes_of_a_piece_are_its_reason() -> None:
    rng = np.random.default_rng(3)
    made = chip(rng)
    light = made.programs.of_mixes(np.array([[made.target]]))
    mixes = made.programs.of_mixes(made.mixes(rng, 60, others=1))
    target = fit_target(light, mixes, made.truth(mixes), CUTS)
    with pytest.raises(InsufficientData, match="bandwidth-bound"):
        target.predict(900.0, 12.0)


def test_beyond_what_was_seen_is_an_extrapolation() -> None:
    rng = np.random.default_rng(4)
    made = chip(rng)
    target = trained(rng, made)
    assert target.predict(1e4, 40.0).extrapolated
    mixes = made.programs.of_mixes(made.mixes(np.random.default_rng(4), 1))
    assert isinstance(target.predict(float(mixes.cache[0]), float(mixes.bandwidth[0])).extrapolated, bool)


def test_what_cannot_be_said() -> None:
    own = Pressures(np.array([1.0]), np.array([0.5]))
    mixes = Pressures(np.linspace(1, 9, 5), np.linspace(1, 3, 5))
    with pytest.raises(InsufficientData, match="No piece"):
        fit_target(own, mixes, np.zeros(5), CUTS)
    with pytest.raises(InsufficientData):
        fit_target(own, Pressures(np.zeros(0), np.zeros(0)), np.zeros(0), CUTS)
    with pytest.raises(NotANumber):
        fit_target(own, mixes, np.full(5, np.nan), CUTS)
    with pytest.raises(BadShape):
        fit_target(own, mixes, np.zeros(4), CUTS)
    alike = Pressures(np.full(20, 5.0), np.full(20, 2.0))
    with pytest.raises(NotEstimable):
        fit_target(own, alike, np.linspace(0, 1, 20), CUTS)
