"""Compares four measures of load with the true load of a stress test, and finds their largest errors (DIGEST A6).

The true load is the request rate as a share of the best one. A correct measure has 0.5 at half of the best load.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.input_checks import enough, numbers, same_length, varied
from analysis.smt.apu import apu, simplified
from analysis.smt.states import States


@dataclass(frozen=True, slots=True)
class Error:
    """Deviation of a measure from the load over all steps of a test, as a fraction 0…1."""

    largest: float
    """Signed: above 0 the measure is too high."""
    at: float
    """Load at the largest error, 0…1."""
    mean: float
    """Mean absolute error."""


def errors(load: ArrayLike, states: States, coefficient: float) -> dict[str, Error]:
    """Errors of `utilisation`, `thread_any`, `apu` and `simplified` at each step of a test; states as means over cores.

    `load` is the share of the best load, 0…1; steps beyond 1 are left out, since no measure exceeds 1.
    Raises InsufficientData below 2 steps, Constant, NotANumber, BadShape.
    """
    truth = numbers("load", load, 0)
    same_length("Steps of a test", truth, states.overlap)
    kept = truth <= 1
    truth = truth[kept]
    enough("steps of a test up to the best load", len(truth), 2)
    varied("loads of a test", truth)
    at = States(states.overlap[kept], states.alone[kept], states.idle[kept])
    measures = {
        "utilisation": at.utilisation,
        "thread_any": at.thread_any,
        "apu": apu(at, coefficient),
        "simplified": simplified(np.clip(at.utilisation, 0, 1), coefficient),
    }
    return {name: _error(measure - truth, truth) for name, measure in measures.items()}


def _error(off: Float, truth: Float) -> Error:
    worst = int(np.argmax(np.abs(off)))
    return Error(float(off[worst]), float(truth[worst]), float(np.abs(off).mean()))
