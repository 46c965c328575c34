"""GIVEN a day of requests and load WHEN capacity is forecast THEN it is where the line is full, with its interval."""

import numpy as np
import pytest

from analysis.errors import BadShape, Constant, Contradictory, InsufficientData, NotANumber
from analysis.smt.capacity import forecast

RATES = np.linspace(50, 450, 48)


def test_the_papers_fits() -> None:
    """DIGEST A7, read the right way round: load in percent = slope · QPS + intercept."""
    by_utilisation = forecast(RATES, (0.093 * RATES + 2) / 100)
    by_apu = forecast(RATES, (0.12 * RATES + 4.4) / 100)
    assert round(by_utilisation.limit.value) == 1054
    assert round(by_apu.limit.value) == 797
    assert by_apu.r2 == pytest.approx(1)
    assert by_apu.reach == pytest.approx(450 / 796.67, abs=1e-3)
    assert not by_apu.curved
    assert by_apu.load(100) == pytest.approx(0.164)


def test_the_interval_holds_what_a_test_finds() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(300):
        found = forecast(RATES, 0.05 + 0.001 * RATES + rng.normal(0, 0.02, len(RATES)))
        # The rate at which one more observation, with its own noise, is full.
        seen = (0.95 + rng.normal(0, 0.02)) / 0.001
        inside += found.limit.lo <= seen <= found.limit.hi
    assert 0.92 <= inside / 300 <= 0.98


def test_a_bend_is_told() -> None:
    rng = np.random.default_rng(4)
    bent = 0.05 + 0.0005 * RATES + 1.5e-6 * RATES**2 + rng.normal(0, 0.003, len(RATES))
    assert forecast(RATES, bent).curved
    straight = 0.05 + 0.001 * RATES + rng.normal(0, 0.003, len(RATES))
    assert not forecast(RATES, straight).curved


def test_noise_that_drowns_the_slope_has_no_upper_end() -> None:
    rng = np.random.default_rng(5)
    x = np.arange(8.0) + 100
    y = 0.01 * x + np.array([0.8, -0.6, 0.3, -0.9, 0.2, 0.1, -0.1, 0.9]) * 0.02
    found = forecast(x, y + rng.normal(0, 1e-9, 8))
    assert found.limit.lo <= found.limit.value <= found.limit.hi


@pytest.mark.parametrize(
    ("rate", "load", "error"),
    [
        (RATES[:7], RATES[:7] / 1000, InsufficientData),
        (np.full(10, 5.0), np.linspace(0, 1, 10), Constant),
        (RATES, np.full(48, 0.4), Constant),
        (RATES, 0.9 - RATES / 1000, Constant),
        (RATES, 1.5 + RATES / 1000, Contradictory),
        (np.append(RATES[:-1], np.nan), RATES / 1000, NotANumber),
        (RATES, RATES[:-1] / 1000, BadShape),
    ],
)
def test_what_cannot_be_said(rate: np.ndarray, load: np.ndarray, error: type[Exception]) -> None:
    with pytest.raises(error):
        forecast(rate, load)
    with pytest.raises(NotANumber):
        forecast(RATES, RATES / 1000, full=0)
