"""GIVEN a machine's logical CPUs WHEN its load is asked THEN cores of one and of two threads each count as one core."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Contradictory, NotANumber, TooLittle
from analysis.smt.machine import NONE, of_cores, of_cpus
from analysis.smt.states import from_utilisation


def test_two_cores_of_two_threads_in_any_order() -> None:
    found = of_cpus(np.array([7, 3, 7, 3]), [1.0, 0.5, 0.0, 0.5], 1.6)
    assert found.utilisation == 0.5
    assert found.thread_any == pytest.approx((1 + 0.75) / 2)
    assert found.apu == pytest.approx((0.8 + (0.5 * 0.8 + 0.25)) / 2)
    assert found.overlap == pytest.approx(0.25 / 2)
    assert (found.cores, found.sibling_cores) == (2, 2)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(1, 4))
def test_without_siblings_every_measure_is_utilisation(u: list[float], oc: float) -> None:
    found = of_cpus(np.arange(len(u)), u, oc)
    assert found.apu == pytest.approx(found.utilisation)
    assert found.simplified == pytest.approx(found.utilisation)
    assert found.thread_any == pytest.approx(found.utilisation)
    assert found.sibling_cores == 0


def test_a_core_with_a_thread_offline() -> None:
    found = of_cpus(np.array([0, 0, 1]), [1.0, 1.0, 0.5], 1.5)
    assert found.apu == pytest.approx((1 + 0.5) / 2)
    assert found.utilisation == pytest.approx(2.5 / 3)


def test_counters_give_the_states_too() -> None:
    states = from_utilisation([0.2, 0.9], [0.4, 0.1])
    both = of_cpus(np.array([0, 0, 1, 1]), [0.2, 0.4, 0.9, 0.1], 1.3)
    assert of_cores(states, np.zeros(0), 1.3) == both


def test_what_cannot_be_said() -> None:
    with pytest.raises(TooLittle):
        of_cpus(np.zeros(0, np.int64), [], 1.2)
    with pytest.raises(TooLittle):
        of_cores(NONE, np.zeros(0), 1.2)
    with pytest.raises(Contradictory, match="4 threads"):
        of_cpus(np.zeros(4, np.int64), [0.1] * 4, 1.2)
    with pytest.raises(NotANumber):
        of_cpus(np.zeros(2, np.int64), [0.1, np.nan], 1.2)
    with pytest.raises(NotANumber):
        of_cpus(np.zeros(2, np.int64), [0.1, 0.1], 0.5)
    with pytest.raises(BadShape):
        of_cpus(np.zeros(2, np.int64), [0.1], 1.2)
