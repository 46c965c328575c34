"""Degradation, and the pressure that causes it (DIGEST I1, I2).

Pressure has two parts: the rate at which a program fills the shared cache (lines in, misses and prefetches, per second)
and its memory bandwidth (bytes read and written per second, here in GB/s). Each is a mean over a run that has the chip
to itself. The pressures of all programs on a chip, the target included, add up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float, Int
from analysis.errors import BadShape
from analysis.input_checks import enough, numbers, positives


@dataclass(frozen=True, slots=True)
class Pressures:
    """Pressure of n programs or mixes; (n,) each."""

    cache: Float
    """Lines brought into the shared cache, in any consistent unit, such as millions per second; ≥ 0."""
    bandwidth: Float
    """GB/s read and written; ≥ 0."""

    def __post_init__(self) -> None:
        numbers("cache pressure", self.cache, 0)
        numbers("memory bandwidth in GB/s", self.bandwidth, 0)
        if np.shape(self.cache) != np.shape(self.bandwidth):
            raise BadShape("Every program needs a cache pressure and a bandwidth.")

    def of_mixes(self, members: Int) -> "Pressures":
        """Total pressure of Q mixes of m programs, given as (Q, m) indexes into these, the target included."""
        if members.size and (members.min() < 0 or members.max() >= len(self.cache)):
            raise BadShape("A mix refers to a program that does not exist.")
        return Pressures(self.cache[members].sum(axis=1), self.bandwidth[members].sum(axis=1))

    @property
    def table(self) -> Float:
        """Cache and bandwidth as columns; (n, 2)."""
        return np.column_stack([self.cache, self.bandwidth])


def degradation(together: ArrayLike, alone: ArrayLike) -> Float:
    """PD = together/alone − 1, of times of the same work or of cycles per instruction; 0: no interference (DIGEST I1).

    Raises NotANumber, BadShape, InsufficientData.
    """
    beside, solo = positives("time or CPI beside others", together), positives("time or CPI alone", alone)
    if solo.ndim and beside.shape != solo.shape:
        raise BadShape("Each run beside others needs its run alone, or all share one.")
    enough("runs beside others", beside.size, 1)
    return np.asarray(beside / solo - 1)
