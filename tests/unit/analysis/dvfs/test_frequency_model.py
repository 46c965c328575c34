"""GIVEN A and B WHEN other frequencies are asked THEN the paper's models come out, and limits are told."""

from math import inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.dvfs.frequency_model import LIMITS, FrequencyModel, naive
from analysis.errors import Contradictory, NotANumber, Unbounded, Unreachable
from tests.unit.analysis.dvfs.published import BASE, GHZ, POVRAY, TABLE, model

cycles, waiting = st.floats(1e6, 1e14), st.floats(0, 1e5)
frequency = st.floats(1e8, 6e9)


@pytest.mark.parametrize("name", TABLE)
def test_the_papers_models_are_consistent(name: str) -> None:
    """DIGEST D5: at the base frequency the model's time is the measured one."""
    assert model(TABLE[name]).time(BASE) == pytest.approx(TABLE[name][0], rel=1e-4)


def test_povray_is_a_misprint() -> None:
    """DIGEST D5: either of two corrections satisfies it, and both predict the same performance."""
    seconds, a, b = POVRAY
    assert abs(float(model(POVRAY).time(BASE)) / seconds - 1) > 0.3
    by_a, by_t0 = model((seconds, 717.96, b)), model((369.08, a, b))
    assert by_a.time(BASE) == pytest.approx(seconds, rel=1e-4)
    assert by_t0.time(BASE) == pytest.approx(369.08, rel=1e-4)
    assert by_a.performance(2 * GHZ, BASE) == pytest.approx(by_t0.performance(2 * GHZ, BASE), rel=1e-4)
    assert round(float(by_a.performance(2 * GHZ, BASE)), 3) == 1.667


@pytest.mark.parametrize(("name", "expected"), [("mcf", 1.526), ("omnetpp", 1.373)])
def test_the_papers_predictions(name: str, expected: float) -> None:
    assert round(float(model(TABLE[name]).performance(2 * GHZ, BASE)), 3) == expected


def test_mcf_at_eighteen_hundred() -> None:
    """DIGEST D5: printed as 1.432; by its own formula it is 1.403."""
    assert round(float(model(TABLE["mcf"]).performance(1.8 * GHZ, BASE)), 3) == 1.403


@settings(deadline=None)
@given(cycles, waiting, frequency, frequency)
def test_time_falls_and_performance_rises(a: float, b: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = FrequencyModel(a, b)
    assert found.time(low) >= found.time(high) * (1 - 1e-12)
    p = found.performance([low, high], BASE)
    assert p[0] <= p[1] * (1 + 1e-12)
    assert p[1] < found.best_performance(BASE) * (1 + 1e-12)


@settings(deadline=None)
@given(cycles, waiting, st.floats(1.2e9, 6e9))
def test_waiting_costs_what_frequency_brings(a: float, b: float, hertz: float) -> None:
    """The naive model is the upper bound of what a higher frequency brings."""
    assert FrequencyModel(a, b).performance(hertz, BASE) <= naive(hertz, BASE) * (1 + 1e-12)


@settings(deadline=None)
@given(cycles, waiting, st.floats(0.3, 3))
def test_the_lowest_frequency_just_keeps_the_target(a: float, b: float, target: float) -> None:
    found = FrequencyModel(a, b)
    assume(target < 0.999 * found.best_performance(BASE))
    hertz = found.lowest_frequency(target, BASE)
    assert found.performance(hertz, BASE) == pytest.approx(target, rel=1e-6)
    assert found.performance(hertz * 0.99, BASE) < target


def test_beyond_the_limit_nothing_helps() -> None:
    found = model(TABLE["omnetpp"])
    limit = found.best_performance(BASE)
    assert limit == pytest.approx(586.42 / 188.3755, rel=1e-4)
    with pytest.raises(Unreachable, match="limits it to"):
        found.lowest_frequency(limit * 1.001, BASE)
    assert FrequencyModel(1e9, 0).best_performance(BASE) == inf


@pytest.mark.parametrize("target", [0.1, 0.9, 1.0])
def test_any_frequency_will_do_where_all_waits(target: float) -> None:
    """A frequency of 0 Hz, the formula's, would say that it was reckoned."""
    found = FrequencyModel(0.0, 3.0)
    with pytest.raises(Unbounded, match="Any frequency keeps"):
        found.lowest_frequency(target, BASE)
    with pytest.raises(Unreachable):
        found.lowest_frequency(1.001, BASE)


def test_slowdown_is_the_other_side_of_performance() -> None:
    found = model(TABLE["gcc"])
    assert found.slowdown([1.2 * GHZ], 2 * GHZ) == pytest.approx(
        1 / found.performance([1.2 * GHZ], 2 * GHZ) - 1
    )
    assert found.off_chip_share(BASE) == pytest.approx(56.0478 / 670.70, rel=1e-3)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_frequencies_that_cannot_be(wrong: float) -> None:
    found = FrequencyModel(1e9, 1)
    for ask in (
        found.time,
        lambda f: found.performance(BASE, f),
        lambda f: naive(BASE, f),
        found.off_chip_share,
    ):
        with pytest.raises(NotANumber):
            ask(wrong)
    with pytest.raises(NotANumber):
        found.lowest_frequency(wrong, BASE)


def test_models_that_cannot_be() -> None:
    for a, b in ((-1.0, 1.0), (1.0, -1.0), (np.nan, 1.0)):
        with pytest.raises(NotANumber):
            FrequencyModel(a, b)
    with pytest.raises(Contradictory):
        FrequencyModel(0, 0)


def test_limits_are_said() -> None:
    """DIGEST D8."""
    assert all(limit.endswith(".") for limit in LIMITS)
