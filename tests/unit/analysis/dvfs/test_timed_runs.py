"""GIVEN runs timed at several frequencies WHEN A/f + B is fitted THEN the terms are found, and what follows has honest intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.timed_runs import TimedRuns, from_runs
from analysis.errors import (
    BadShape,
    Constant,
    Contradictory,
    InsufficientData,
    NotANumber,
    Unbounded,
    Unreachable,
)

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
    found = from_runs(hertz, a / hertz + b)
    for each in found.settings:
        assert each.fitted == pytest.approx(each.seconds, rel=1e-6)
        if each.held_out is not None and np.ptp(hertz[hertz != each.hertz]) > 1e8:
            assert each.held_out == pytest.approx(0, abs=1e-4)
    assert found.time(3 * GHZ).value == pytest.approx(a / (3 * GHZ) + b, rel=1e-3)


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 10))
def test_the_memorys_frequency_is_told_apart(a: float, b: float, c: float) -> None:
    core, memory = (np.array(each) * GHZ for each in ([1.0, 2.0, 1.0, 2.0], [0.8, 0.8, 1.6, 1.6]))
    found = from_runs(core, a * GHZ / core + b + c * GHZ / memory, memory)
    assert found.knows_memory
    assert found.on_chip_cycles.value == pytest.approx(a * GHZ)
    assert found.fixed_s.value == pytest.approx(b)
    assert found.memory_cycles is not None
    assert found.memory_cycles.value == pytest.approx(c * GHZ)
    # Against the fastest setting, the memory's too.
    now, then = a / 2 + b + c / 1.6, a / 1.5 + b + c / 3.2
    change = MemoryChange(1.6 * GHZ, 3.2 * GHZ)
    assert found.slowdown(1.5 * GHZ, 2 * GHZ, change).value == pytest.approx(then / now - 1)
    assert found.off_chip_share(2 * GHZ).value == pytest.approx((b + c / 1.6) / now)
    lowest = found.lowest_frequency(0.8, 2 * GHZ, change).value
    assert a * GHZ / lowest + b + c / 3.2 == pytest.approx(now / 0.8)


def test_two_runs_determine_it_and_say_nothing_of_how_sure() -> None:
    found = from_runs([1 * GHZ, 2 * GHZ], [12.0, 7.0])
    assert found.on_chip_cycles.value == pytest.approx(10 * GHZ)
    assert found.fixed_s.value == pytest.approx(2)
    assert np.isnan(found.spread)
    assert found.fixed_s.hi == np.inf
    slowdown = found.slowdown(1.5 * GHZ, 2 * GHZ)
    assert slowdown.value == pytest.approx((10 / 1.5 + 2) / 7 - 1)
    assert (slowdown.lo, slowdown.hi) == (-1, np.inf)
    assert all(each.held_out is None for each in found.settings)


def noisy(rng: np.random.Generator, runs: int, noise: float = 0.01) -> TimedRuns:
    hertz = np.repeat([1.0, 1.5, 2.0], runs) * GHZ
    return from_runs(hertz, (10 * GHZ / hertz + 2) * rng.normal(1, noise, len(hertz)))


@pytest.mark.slow
@pytest.mark.parametrize("ghz", [0.6, 1.2, 3.0])
def test_intervals_hold_what_they_say(ghz: float) -> None:
    rng = np.random.default_rng(0)
    true, base = 10 / ghz + 2, 10 / 2 + 2
    held = np.zeros(4)
    for _ in range(600):
        found = noisy(rng, 3)
        lowest = found.lowest_frequency(0.8, 2 * GHZ)
        held += (
            found.slowdown(ghz * GHZ, 2 * GHZ).holds(true / base - 1),
            found.time(ghz * GHZ).holds(true * rng.normal(1, 0.01)),
            found.off_chip_share(2 * GHZ).holds(2 / base),
            lowest.holds(10 * GHZ / (base / 0.8 - 2)),
        )
    assert ((held / 600 > 0.92) & (held / 600 < 0.98)).all(), held / 600


def test_a_frequency_is_foretold_by_the_others() -> None:
    hertz = np.array([1.0, 1.5, 2.0]) * GHZ
    time = 10 * GHZ / hertz + 2
    time[1] *= 1.1
    middle = from_runs(hertz, time).settings[1]
    assert middle.held_out == pytest.approx(1 / 1.1 - 1)
    assert middle.naive is not None
    # Time × frequency of the other two is 12 and 14 thousand millions: one number for both, by relative errors.
    assert middle.naive == pytest.approx((1 / 12 + 1 / 14) / (1 / 12**2 + 1 / 14**2) / 1.5 / time[1] - 1)


def test_an_assumed_memory_is_a_bound() -> None:
    found = from_runs([1 * GHZ, 2 * GHZ], [12.0, 7.0], [3.2 * GHZ] * 2)
    assert not found.knows_memory
    assert found.memory_hz == 3.2 * GHZ
    assert found.memory_cycles is None
    for part, waits in ((1.0, 1.0), (0.5, 1.5), (0.0, 2.0)):
        change = MemoryChange(3.2 * GHZ, 6.4 * GHZ, part)
        assert found.slowdown(1 * GHZ, 2 * GHZ, change).value == pytest.approx((10 + waits) / 7 - 1)


def test_what_is_faster_than_its_clock_by_chance_is_clipped() -> None:
    hertz = np.array([1.0, 2.0, 4.0]) * GHZ
    found = from_runs(hertz, np.array([10.05, 4.95, 2.48]))
    assert found.clipped
    assert found.fixed_s.value == 0
    assert found.fixed_s.lo == 0 < found.fixed_s.hi
    assert found.off_chip_share(4 * GHZ).value == 0


def test_no_frequency_outruns_what_waits() -> None:
    found = from_runs([1 * GHZ, 2 * GHZ], [12.0, 11.0])
    with pytest.raises(Unreachable):
        found.lowest_frequency(1.3, 2 * GHZ)
    # Slower memory can only be made up for while the clock has something to give.
    with pytest.raises(Unreachable):
        found.lowest_frequency(1.0, 2 * GHZ, MemoryChange(3 * GHZ, 1 * GHZ))


def test_any_frequency_will_do_where_all_waits() -> None:
    found = from_runs(np.array([1.0, 1.0, 2.0, 2.0]) * GHZ, [10.0, 10.1, 10.02, 10.12])
    assert found.on_chip_cycles.value == 0
    for performance in (1.0, 0.9):
        with pytest.raises(Unbounded, match="Any frequency keeps"):
            found.lowest_frequency(performance, 2 * GHZ)
    with pytest.raises(Unreachable):
        found.lowest_frequency(1.0, 2 * GHZ, MemoryChange(3 * GHZ, 1 * GHZ))


@pytest.mark.parametrize(
    ("ghz", "seconds", "error"),
    [
        ([1.0], [1.0], InsufficientData),
        ([], [], InsufficientData),
        ([1.0, 1.0], [1.0, 1.1], Constant),
        ([1.0, 2.0], [1.0, np.nan], NotANumber),
        ([1.0, 2.0], [1.0, 0.0], NotANumber),
        ([1.0, -2.0], [1.0, 1.0], NotANumber),
        ([1.0, 2.0], [1.0], BadShape),
        # Longer at the higher frequency, and shorter by more than the frequency: of two runs by more than they repeat …
        ([1.0, 2.0], [1.0, 1.1], Contradictory),
        ([1.0, 2.0], [10.0, 4.5], Contradictory),
        # … and of several by more than these say.
        ([1.0, 1.0, 2.0, 2.0], [1.0, 1.001, 1.01, 1.011], Contradictory),
        ([1.0, 1.0, 2.0, 2.0], [10.0, 10.01, 4.9, 4.91], Contradictory),
    ],
)
def test_what_cannot_be_said(ghz: list[float], seconds: list[float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_runs(np.array(ghz) * GHZ, seconds)


@pytest.mark.parametrize(
    ("core", "memory", "seconds", "error"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0], Constant),
        ([1.0, 2.0], [1.0, 2.0], [2.0, 1.0], InsufficientData),
        ([1.0, 2.0, 1.0], [1.0, np.nan, 1.0], [1.0, 1.0, 1.0], NotANumber),
        ([1.0, 2.0, 3.0], [1.0, 2.0], [1.0, 1.0, 1.0], BadShape),
        ([1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [3.0, 2.0, 4.0], Contradictory),
    ],
)
def test_what_cannot_be_said_of_both(
    core: list[float], memory: list[float], seconds: list[float], error: type[Exception]
) -> None:
    with pytest.raises(error):
        from_runs(np.array(core) * GHZ, seconds, np.array(memory) * GHZ)
