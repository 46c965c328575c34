"""The mean of repeated measurements with its 95 % interval by Student's t."""

import numpy as np
from numpy.typing import ArrayLike

from analysis import confidence
from analysis.input_checks import enough, positives
from analysis.measured import Measured


def mean_of(what: str, values: ArrayLike) -> Measured:
    """The mean of positive measurements, with a lower end ≥ 0; 0 … ∞ for a single one, whose repeatability is unknown.

    Raises InsufficientData for none, NotANumber.
    """
    found = np.atleast_1d(positives(what, values))
    enough(what, len(found), 1)
    mean = float(found.mean())
    if len(found) < 2:
        return Measured(mean, 0.0, float("inf"))
    half = float(confidence.student(len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return Measured(mean, max(0.0, mean - half), mean + half)
