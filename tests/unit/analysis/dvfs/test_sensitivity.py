"""GIVEN a share of time that waits WHEN the memory is another THEN slowdowns and lowest frequencies are those of the sum of the two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.sensitivity import FleetSensitivity
from analysis.errors import NotANumber, Unbounded, Unreachable
from analysis.measured import Measured

BASE = 2e9


def waits(value: float, lo: float, hi: float) -> FleetSensitivity:
    return FleetSensitivity(Measured(value, lo, hi), BASE, 100, low_confidence=False)


@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0.3, 3), st.floats(0.2, 5))
def test_time_is_the_sum_of_both_parts(share: float, ghz: float, waiting: float) -> None:
    found = waits(share, share / 2, (1 + share) / 2).slowdown(ghz * 1e9, waiting)
    assert found.value == pytest.approx((1 - share) * 2 / ghz + share * waiting - 1, abs=1e-12)
    assert found.lo <= found.value <= found.hi


@settings(deadline=None)
@given(st.floats(0, 0.9), st.floats(0.3, 1), st.floats(0.2, 1))
def test_the_lowest_frequency_keeps_the_performance(share: float, performance: float, waiting: float) -> None:
    model = waits(share, share, share)
    hertz = model.lowest_frequency(performance, waiting).value
    assert model.slowdown(hertz, waiting).value == pytest.approx(1 / performance - 1, abs=1e-9)


def test_a_slow_memory_bounds_the_performance() -> None:
    model = waits(0.4, 0.3, 0.5)
    with pytest.raises(Unreachable, match=r"limits it to 0\.833"):
        model.lowest_frequency(0.9, waiting=3.0)
    assert model.lowest_frequency(0.9, waiting=2.3).hi == np.inf


@pytest.mark.parametrize(("performance", "waiting"), [(1.0, 1.0), (0.9, 1.0), (0.9, 1.1), (1.0, 0.5)])
def test_any_frequency_will_do_where_all_waits(performance: float, waiting: float) -> None:
    with pytest.raises(Unbounded, match="Any frequency keeps"):
        waits(1.0, 1.0, 1.0).lowest_frequency(performance, waiting)


def test_the_interval_says_which_frequency_is_safe_where_all_waits() -> None:
    # A fifth of the time is on the chip, and a ninth more of the whole is allowed.
    safe = 0.2 * 2000 / (1 / 0.9 - 0.8)
    with pytest.raises(Unbounded, match=f"{safe:,.0f} MHz is safe"):
        waits(1.0, 0.8, 1.0).lowest_frequency(0.9)


def test_no_frequency_makes_up_for_a_slow_memory_where_all_waits() -> None:
    with pytest.raises(Unreachable):
        waits(1.0, 0.9, 1.0).lowest_frequency(0.9, 1.2)


@pytest.mark.parametrize(("part", "factor"), [(1.0, 0.5), (0.5, 0.75), (0.0, 1.0)])
def test_a_part_of_a_miss_goes_with_the_memorys_clock(part: float, factor: float) -> None:
    assert MemoryChange(3.2e9, 6.4e9, part).waiting == pytest.approx(factor)


@pytest.mark.parametrize("wrong", [(0.0, 1e9, 1.0), (1e9, np.nan, 1.0), (1e9, 1e9, 1.1), (1e9, 1e9, -0.1)])
def test_what_is_no_memory(wrong: tuple[float, float, float]) -> None:
    with pytest.raises(NotANumber):
        MemoryChange(*wrong)
