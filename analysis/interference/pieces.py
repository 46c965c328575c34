"""The three pieces of a degradation function, by the total bandwidth of all programs on the chip (DIGEST I3).

Below a quarter of the memory's peak programs contend for the cache, above three quarters for bandwidth, between for
both.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int
from analysis.errors import Contradictory
from analysis.input_checks import positive

NAMES = ("cache-bound", "both", "bandwidth-bound")


@dataclass(frozen=True, slots=True)
class Cuts:
    """Bandwidths in GB/s at which one piece ends and the next begins; a boundary belongs to the lower piece."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if positive("lower cut in GB/s", self.low) >= positive("upper cut in GB/s", self.high):
            raise Contradictory("The lower cut between pieces must be below the upper one.")

    def piece(self, bandwidth: Float) -> Int:
        """0, 1 or 2 for each bandwidth."""
        return np.asarray(np.searchsorted([self.low, self.high], bandwidth, side="left"), np.int64)


def of_peak(peak: float) -> Cuts:
    """Cuts at 25 and 75 % of a platform's peak bandwidth in GB/s: 12.8 gives the paper's 3.2 and 9.6."""
    whole = positive("peak bandwidth in GB/s", peak)
    return Cuts(whole / 4, 3 * whole / 4)
