"""GIVEN a stress test's steps WHEN measures of load are held against it THEN APU is right where utilisation is not."""

import numpy as np
import pytest

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.smt.measures import errors
from analysis.smt.states import States, from_utilisation

OC = 1.6


def steps_on_one_thread() -> tuple[np.ndarray, States]:
    """SPECpower on one thread (DIGEST A6): the best load fills one thread, the other stays idle."""
    load = np.linspace(0, 1, 11)
    return load, from_utilisation(load, np.zeros(11))


def test_on_one_thread_utilisation_is_half_of_the_truth() -> None:
    load, states = steps_on_one_thread()
    found = errors(load, states, 2.0)
    assert found["utilisation"].largest == pytest.approx(-0.5)
    assert found["utilisation"].at == 1
    assert abs(found["apu"].largest) < 1e-12


def test_on_both_threads_any_thread_is_full_too_early() -> None:
    """Work that a core does is what it is busy with, less what overlap costs: the truth the model is made for."""
    u = np.linspace(0, 1, 21)
    states = from_utilisation(u, u)
    load = (states.alone * OC / 2 + states.overlap) / 1.0
    found = errors(load, states, OC)
    assert found["thread_any"].largest > 0.05
    assert found["utilisation"].largest < -0.05
    assert abs(found["apu"].largest) < 1e-9
    assert abs(found["simplified"].largest) < 1e-9


def test_steps_beyond_the_best_load_are_left_out() -> None:
    load, states = steps_on_one_thread()
    assert errors(load * 1.2, states, OC)["utilisation"].at <= 1


def test_what_cannot_be_said() -> None:
    load, states = steps_on_one_thread()
    with pytest.raises(BadShape):
        errors(load[:5], states, OC)
    with pytest.raises(InsufficientData):
        errors(load + 5, states, OC)
    with pytest.raises(Constant):
        errors(np.full(11, 0.5), states, OC)
    with pytest.raises(NotANumber):
        errors(np.where(load > 0.5, np.nan, load), states, OC)
