"""Adjusted processor utilisation: the share of a core's capacity that is used up, which plain utilisation is not.

    APU = (P(alone)·OC/2 + P(overlap)) / max(OC/2, 1)        (DIGEST A4)
    APU ≈ (1 − OC)·U² + OC·U                                  (DIGEST A5: both threads alike, OC ≤ 2)

One thread saturated and the other idle has U = 0.5; with OC = 2.198 the core has nothing left to give, APU = 1.
APU rises with either thread's utilisation as long as OC ≤ 2. Above, a second busy thread harms, and a core with one
saturated thread is nearer to its best than one with two.
"""

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape
from analysis.input_checks import numbers
from analysis.smt.states import States


def apu(states: States, coefficient: ArrayLike) -> Float:
    """APU of cores in these states, 0…1; (C,). `coefficient`: OC ≥ 1, one for all or one for each core.

    Raises NotANumber, BadShape.
    """
    half = _coefficients(coefficient, states.overlap) / 2
    return np.asarray((states.alone * half + states.overlap) / np.maximum(half, 1.0))


def simplified(utilisation: ArrayLike, coefficient: ArrayLike) -> Float:
    """APU from nothing but mean utilisations 0…1, both threads taken to be alike; 0…1.

    With OC > 2 the formula passes 1, where it is cut. It errs most, by about a fifth, where one thread carries all the load. Raises NotANumber, BadShape.
    """
    u = np.atleast_1d(numbers("utilisation", utilisation, 0, 1))
    oc = _coefficients(coefficient, u)
    return np.asarray(np.clip((1 - oc) * u**2 + oc * u, 0.0, 1.0))


def _coefficients(coefficient: ArrayLike, like: Float) -> Float:
    oc = numbers("overlap coefficient", coefficient, 1)
    if oc.ndim and oc.shape != like.shape:
        raise BadShape("Cores need one overlap coefficient, or one each.")
    return oc
