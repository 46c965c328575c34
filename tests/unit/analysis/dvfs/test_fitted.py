"""GIVEN times at several frequencies WHEN A and B are fitted THEN they are found, and noise is told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.fitted import from_times, from_times_of_both
from analysis.errors import BadShape, Constant, Contradictory, NotANumber, TooLittle

GHZ = 1e9


@settings(deadline=None)
@given(
    st.floats(1e8, 1e13),
    st.floats(0.01, 1e4),
    st.lists(st.floats(0.5, 5), min_size=2, max_size=6, unique=True),
)
def test_exact_times_give_the_truth(a: float, b: float, ghz: list[float]) -> None:
    hertz = np.array(ghz) * GHZ
    if np.ptp(hertz) < 1e7:
        return
    found = from_times(hertz, a / hertz + b)
    assert found.model.time(hertz) == pytest.approx(a / hertz + b, rel=1e-6)
    assert found.observations == found.frequencies == len(ghz)


def test_two_frequencies_determine_it() -> None:
    found = from_times([1 * GHZ, 2 * GHZ], [12.0, 7.0])
    assert found.model.on_chip_cycles == pytest.approx(10 * GHZ)
    assert found.model.off_chip_s == pytest.approx(2)
    assert np.isnan(found.spread)
    assert np.isnan(found.relative_half_width(1.5 * GHZ))


def test_the_interval_holds_another_run() -> None:
    rng = np.random.default_rng(0)
    hertz = np.repeat([1.0, 1.5, 2.0], 4) * GHZ
    inside = 0
    for _ in range(400):
        found = from_times(hertz, (10 * GHZ / hertz + 2) * rng.normal(1, 0.01, 12))
        seen = (10 / 1.2 + 2) * rng.normal(1, 0.01)
        off = abs(seen / float(found.model.time(1.2 * GHZ)) - 1)
        inside += off <= float(found.relative_half_width(1.2 * GHZ))
    assert 0.92 <= inside / 400 <= 0.98


@pytest.mark.parametrize("ghz", [0.4, 0.8, 1.6, 4.0])
def test_intervals_hold_outside_of_the_frequencies_too(ghz: float) -> None:
    """The frequency's term was lost: at 0.4 GHz the interval was less than half as wide as it has to be."""
    rng = np.random.default_rng(3)
    hertz = np.repeat([1.2, 1.6, 2.0], 2) * GHZ
    inside = 0
    for _ in range(400):
        found = from_times(hertz, (1000 * GHZ / hertz + 300) * rng.normal(1, 0.02, 6))
        seen = (1000 / ghz + 300) * rng.normal(1, 0.02)
        off = abs(seen / float(found.model.time(ghz * GHZ)) - 1)
        inside += off <= float(found.relative_half_width(ghz * GHZ))
    assert 0.92 <= inside / 400 <= 0.98


def test_memory_that_speeds_up_too_is_clipped() -> None:
    found = from_times([1 * GHZ, 2 * GHZ, 4 * GHZ], [10.0, 4.8, 2.3])
    assert found.clipped
    assert found.model.off_chip_s == 0
    assert found.spread > 0.01


@pytest.mark.parametrize(
    ("hertz", "seconds", "error"),
    [
        ([GHZ], [1.0], TooLittle),
        ([], [], TooLittle),
        ([GHZ, GHZ], [1.0, 1.1], Constant),
        ([GHZ, 2 * GHZ], [1.0, 1.1], Contradictory),
        ([GHZ, 2 * GHZ], [1.0, np.nan], NotANumber),
        ([GHZ, -GHZ], [1.0, 1.0], NotANumber),
        ([GHZ, 2 * GHZ], [1.0], BadShape),
    ],
)
def test_what_cannot_be_said(hertz: list[float], seconds: list[float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_times(hertz, seconds)


def test_the_memorys_frequency_is_told_apart() -> None:
    core = np.array([1.0, 2.0, 1.0, 2.0]) * GHZ
    memory = np.array([0.8, 0.8, 1.6, 1.6]) * GHZ
    found = from_times_of_both(core, memory, 6 * GHZ / core + 1 + 2 * GHZ / memory)
    assert found.on_chip_cycles == pytest.approx(6 * GHZ)
    assert found.fixed_s == pytest.approx(1)
    assert found.memory_cycles == pytest.approx(2 * GHZ)
    assert found.at_memory(1.6 * GHZ).time(2 * GHZ) == pytest.approx(found.time(2 * GHZ, 1.6 * GHZ))


@pytest.mark.parametrize(
    ("core", "memory", "error"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], Constant),
        ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], Constant),
        ([1.0, 2.0], [1.0, 2.0], TooLittle),
        ([1.0, 2.0, np.nan], [1.0, 2.0, 1.0], NotANumber),
        ([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 1.0], BadShape),
    ],
)
def test_what_cannot_be_said_of_both(core: list[float], memory: list[float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_times_of_both(core, memory, np.ones(len(core)))
