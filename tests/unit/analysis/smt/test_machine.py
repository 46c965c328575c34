"""GIVEN a machine's logical CPUs WHEN its load is asked THEN cores of one and of two threads each count as one core."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Contradictory, InsufficientData, NotANumber
from analysis.smt.machine import NONE, of_cores, of_counters, of_cpus
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


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(1, 3),
    st.floats(1e6, 5e9),
)
def test_independent_threads_have_the_same_load_by_counters(
    cores: list[tuple[float, float]], oc: float, hertz: float
) -> None:
    u0, u1 = (np.array(side) for side in zip(*cores, strict=True))
    by_time = of_cpus(np.tile(np.arange(len(cores)), 2), [*u0, *u1], oc)
    by_cycles = of_counters(
        threads=float((u0 + u1).sum() * hertz),
        either=float((u0 + u1 - u0 * u1).sum() * hertz),
        available=len(cores) * hertz,
        cores=len(cores),
        coefficient=oc,
    )
    for name in ("apu", "thread_any", "utilisation", "overlap"):
        assert getattr(by_cycles, name) == pytest.approx(getattr(by_time, name), abs=1e-9)
    assert by_cycles.states.idle == pytest.approx(by_time.states.idle, abs=1e-9)


def test_threads_that_are_kept_apart_use_up_more_than_their_times_say() -> None:
    """Half of the time each, never together: utilisation says 0.5, A3 an overlap of 0.25, the counters none."""
    by_time = of_cpus(np.array([0, 0]), [0.5, 0.5], 1.4)
    by_cycles = of_counters(threads=100, either=100, available=100, cores=1, coefficient=1.4)
    assert by_time.apu == pytest.approx(0.5 * 0.7 + 0.25)
    assert by_cycles.apu == pytest.approx(0.7)
    with pytest.raises(InsufficientData):
        of_counters(threads=1, either=1, available=1, cores=0, coefficient=1.4)
    with pytest.raises(NotANumber):
        of_counters(threads=1, either=1, available=1, cores=1, coefficient=0.4)


def test_what_cannot_be_said() -> None:
    with pytest.raises(InsufficientData):
        of_cpus(np.zeros(0, np.int64), [], 1.2)
    with pytest.raises(InsufficientData):
        of_cores(NONE, np.zeros(0), 1.2)
    with pytest.raises(Contradictory, match="4 threads"):
        of_cpus(np.zeros(4, np.int64), [0.1] * 4, 1.2)
    with pytest.raises(NotANumber):
        of_cpus(np.zeros(2, np.int64), [0.1, np.nan], 1.2)
    with pytest.raises(NotANumber):
        of_cpus(np.zeros(2, np.int64), [0.1, 0.1], 0.5)
    with pytest.raises(BadShape):
        of_cpus(np.zeros(2, np.int64), [0.1], 1.2)
