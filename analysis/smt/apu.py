"""Adjusted processor utilisation (APU): the used share of a core's capacity, unlike plain utilisation.

    APU = (P(alone)·OC/2 + P(overlap)) / max(OC/2, 1)        (DIGEST A4)
    APU ≈ (1 − OC)·U² + OC·U                                  (DIGEST A5: both threads alike, OC ≤ 2)

With one thread saturated and the other idle U = 0.5; with OC = 2.198 the core has no capacity left, APU = 1.
APU rises with either thread's utilisation as long as OC ≤ 2. Above, a second busy thread reduces throughput, and a core
with one saturated thread is nearer to its best than one with two.
"""

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape
from analysis.input_checks import numbers
from analysis.smt.states import States


def apu(states: States, coefficient: ArrayLike) -> Float:
    """APU of cores in these states, 0…1; (C,). `coefficient` is OC ≥ 1, one for all cores or one per core.

    Raises NotANumber, BadShape.
    """
    half = _coefficients(coefficient, states.overlap) / 2
    return np.asarray((states.alone * half + states.overlap) / np.maximum(half, 1.0))


def simplified(utilisation: ArrayLike, coefficient: ArrayLike) -> Float:
    """APU from mean utilisations 0…1 alone, assuming both threads are alike; 0…1.

    With OC > 2 the formula exceeds 1 and is clipped. Its error is largest, about a fifth, if one thread carries all the
    load. Raises NotANumber, BadShape.
    """
    u = np.atleast_1d(numbers("utilisation", utilisation, 0, 1))
    oc = _coefficients(coefficient, u)
    return np.asarray(np.clip((1 - oc) * u**2 + oc * u, 0.0, 1.0))


def _coefficients(coefficient: ArrayLike, like: Float) -> Float:
    oc = numbers("overlap coefficient", coefficient, 1)
    if oc.ndim and oc.shape != like.shape:
        raise BadShape("Cores need one overlap coefficient, or one each.")
    return oc
