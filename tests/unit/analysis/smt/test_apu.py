"""GIVEN a core's states WHEN its APU is asked THEN it is the paper's, between 0 and 1, and rises with load."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, NotANumber
from analysis.smt.apu import apu, simplified
from analysis.smt.states import from_utilisation

share = st.floats(0, 1)
coefficient = st.floats(1, 5)


def test_both_threads_saturated() -> None:
    """DIGEST A4, and A5 which leaves out the maximum."""
    assert round(float(apu(from_utilisation(1, 1), 2.198)[0]), 3) == 0.910
    assert simplified(1.0, 2.198)[0] == pytest.approx(1.0)


def test_one_thread_saturated() -> None:
    """DIGEST A4: nothing left where plain utilisation says a half. A5 is a fifth off."""
    states = from_utilisation(1, 0)
    assert states.utilisation[0] == 0.5
    assert apu(states, 2.198)[0] == pytest.approx(1.0)
    assert simplified(0.5, 2.198)[0] == pytest.approx(0.7995)


@settings(deadline=None)
@given(share, coefficient)
def test_the_correction_is_the_papers(u: float, oc: float) -> None:
    """DIGEST A5: APU − U = (OC − 1)(U − U²), where the formula stays below 1."""
    expected = u + (oc - 1) * (u - u * u)
    assert simplified(u, oc)[0] == pytest.approx(min(expected, 1))


def test_the_correction_is_largest_at_a_half() -> None:
    u = np.linspace(0, 1, 101)
    assert u[np.argmax(simplified(u, 1.6) - u)] == 0.5


@settings(deadline=None)
@given(share, share, coefficient)
def test_it_is_a_share(u0: float, u1: float, oc: float) -> None:
    states = from_utilisation(u0, u1)
    assert 0 <= apu(states, oc)[0] <= 1 + 1e-12
    assert 0 <= simplified((u0 + u1) / 2, oc)[0] <= 1


@settings(deadline=None)
@given(share, share, share, st.floats(1, 2))
def test_it_rises_with_a_threads_utilisation(u0: float, more: float, u1: float, oc: float) -> None:
    low, high = sorted((u0, more))
    before, after = (apu(from_utilisation(u, u1), oc)[0] for u in (low, high))
    assert before <= after + 1e-12


@settings(deadline=None)
@given(share, share, st.floats(1, 2))
def test_it_is_between_utilisation_and_any_thread(u0: float, u1: float, oc: float) -> None:
    states = from_utilisation(u0, u1)
    assert states.utilisation[0] - 1e-12 <= apu(states, oc)[0] <= states.thread_any[0] + 1e-12


@settings(deadline=None)
@given(share, coefficient)
def test_threads_alike_have_the_simplified_one(u: float, oc: float) -> None:
    if oc <= 2:
        assert apu(from_utilisation(u, u), oc) == pytest.approx(simplified(u, oc))


def test_what_cannot_be() -> None:
    states = from_utilisation([0.5, 0.5], [0.5, 0.5])
    for wrong in (0.99, np.nan, np.inf):
        with pytest.raises(NotANumber):
            apu(states, wrong)
    with pytest.raises(BadShape):
        apu(states, [1.1, 1.2, 1.3])
    with pytest.raises(NotANumber):
        simplified([1.01], 1.5)
