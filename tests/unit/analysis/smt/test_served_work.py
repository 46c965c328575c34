"""GIVEN request rates and loads of two machine types WHEN they are compared at one load THEN price for work decides."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import NotANumber
from analysis.measured import Measured, quotient
from analysis.measured import given as fixed
from analysis.smt.capacity import Capacity, forecast
from analysis.smt.machine_choice import Advice
from analysis.smt.served_work import compare


def line(full_at: float, idle: float = 0.05, noise: float = 0.0, full: float = 1.0) -> Capacity:
    """A machine that is idle at `idle` load and full at `full_at` requests per second."""
    rate = np.linspace(0.2, 0.6, 24) * full_at
    wobble = noise * np.resize([1.0, -1.0, -1.0, 1.0], len(rate))
    return forecast(rate, idle + (1 - idle) / full_at * rate + wobble, full)


def test_the_papers_stress_test() -> None:
    """DIGEST A8: 812 requests a second against 647 for 1.33 times the price: old is right."""
    found = compare(1.0, line(647), 1.33, line(812))
    assert found.ratio.value == pytest.approx(812 / 647)
    assert found.advice is Advice.OLD
    assert found.old_price.value == pytest.approx(1 / 647)
    assert found.new_price.value == pytest.approx(1.33 / 812)
    assert not found.curved


def test_unequal_traffic_does_not_mislead() -> None:
    """The new type is given so little that it looks three times as good to who compares loads alone."""
    old = line(100)
    rate = np.linspace(5, 15, 24)
    new = forecast(rate, 0.05 + 0.95 / 120 * rate)
    assert old.load(60) / new.load(15) > 3
    assert compare(1.0, old, 1.33, new).ratio.value == pytest.approx(1.2)


def test_noise_makes_it_unclear_and_holds_the_truth() -> None:
    found = compare(1.0, line(647, noise=0.05), 1.2, line(812, noise=0.05))
    assert found.advice is Advice.UNCLEAR
    assert found.ratio.holds(812 / 647)
    assert found.new_price.lo < found.new_price.value < found.new_price.hi


def test_a_lower_load_needs_no_stress() -> None:
    """Machines that idle at different loads are not as far apart at half load as at full."""
    full = compare(1.0, line(100, idle=0.0), 1.0, line(100, idle=0.4))
    half = compare(1.0, line(100, idle=0.0, full=0.5), 1.0, line(100, idle=0.4, full=0.5))
    assert full.ratio.value == pytest.approx(1)
    assert half.ratio.value == pytest.approx(1 / 3)


def test_an_open_end_bounds_nothing() -> None:
    assert quotient(Measured(2, 0, inf), fixed(1)) == Measured(2, 0, inf)
    assert quotient(fixed(1), Measured(2, 0, inf)) == Measured(0.5, 0, inf)


@settings(deadline=None)
@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0.01, 100))
def test_types_exchanged_exchange_the_advice(old: float, new: float, price: float) -> None:
    there, back = compare(1.0, line(old), price, line(new)), compare(price, line(new), 1.0, line(old))
    assert there.ratio.value * back.ratio.value == pytest.approx(1)
    assert there.ratio.lo * back.ratio.hi == pytest.approx(1)
    swapped = {Advice.OLD: Advice.NEW, Advice.NEW: Advice.OLD, Advice.UNCLEAR: Advice.UNCLEAR}
    if abs(there.ratio.value / price - 1) > 1e-6:
        assert back.advice is swapped[there.advice]
    assert there.new_price.value / there.old_price.value == pytest.approx(price / there.ratio.value)


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan")])
def test_prices_that_cannot_be(price: float) -> None:
    with pytest.raises(NotANumber):
        compare(1.0, line(10), price, line(10))
