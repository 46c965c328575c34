"""GIVEN two machine types under one service's load WHEN they are compared THEN price decides, or a stress test must."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import NotANumber
from analysis.measured import Measured
from analysis.measured import given as fixed
from analysis.smt.machine_choice import Advice, MachineType, choose, screen

OLD = MachineType(1.0, fixed(0.82), fixed(0.89))
NEW = MachineType(1.33, fixed(0.58), fixed(0.70))


def test_the_papers_table() -> None:
    """DIGEST A8: utilisation says new, APU says old, and the stress test (812/647) agrees with APU."""
    found = choose(OLD, NEW)
    assert round(found.utilisation_ratio.value, 3) == 1.414
    assert round(found.apu_ratio.value, 3) == 1.271
    assert found.by_utilisation is Advice.NEW
    assert found.by_apu is Advice.OLD
    assert found.stress_test
    assert found.price_ratio > 812 / 647


def test_screening_names_what_to_test() -> None:
    agreed = MachineType(1.33, fixed(0.40), fixed(0.45))
    idle = MachineType(1.33, fixed(0.0), fixed(0.0))
    wanted, unknown = screen([("search", OLD, NEW), ("mail", OLD, agreed), ("idle", OLD, idle)])
    assert wanted == ["search"]
    assert list(unknown) == ["idle"]
    assert unknown["idle"].reason == "not_a_number"


def test_an_interval_that_holds_the_price_is_unclear() -> None:
    wide = MachineType(1.33, Measured(0.58, 0.50, 0.66), Measured(0.70, 0.62, 0.78))
    found = choose(OLD, wide)
    assert found.by_apu is Advice.UNCLEAR
    assert found.stress_test
    assert found.apu_ratio.lo < 1.33 < found.apu_ratio.hi


def test_an_interval_down_to_nothing_bounds_nothing() -> None:
    assert choose(OLD, MachineType(1.33, fixed(0.5), Measured(0.5, 0, 0.9))).by_apu is Advice.UNCLEAR


@settings(deadline=None)
@given(st.floats(0.05, 1), st.floats(0.05, 1), st.floats(0.1, 10))
def test_prices_and_loads_exchanged_exchange_the_advice(old: float, new: float, price: float) -> None:
    one, other = MachineType(1.0, fixed(old), fixed(old)), MachineType(price, fixed(new), fixed(new))
    there, back = choose(one, other), choose(other, one)
    assert there.apu_ratio.value * back.apu_ratio.value == pytest.approx(1)
    if abs(there.apu_ratio.value / price - 1) > 1e-9:
        assert {there.by_apu, back.by_apu} == {Advice.OLD, Advice.NEW} or there.by_apu is not back.by_apu


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan")])
def test_prices_that_cannot_be(price: float) -> None:
    with pytest.raises(NotANumber):
        choose(OLD, MachineType(price, fixed(0.5), fixed(0.5)))
