"""The overlap coefficient: factor of CPU time when the core's other thread is busy, too (DIGEST A1).

    OC = CPU time with overlap / CPU time without = Q_single / (Q_both / 2)

1: the threads do not slow each other down; 2: both together do as much as one alone; above 2 the second thread reduces
throughput. It belongs to a workload on a platform and is measured by stress tests on one thread and on both.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from analysis import confidence
from analysis.arrays import Float
from analysis.errors import Contradictory
from analysis.input_checks import enough, number, positive, positives, same_length

NEUTRAL = 2.0
"""The coefficient at which two busy threads do as much as one."""
_NOISE = 0.02
"""Tolerance below 1 for a single pair of stress tests: throughputs scatter by about a percent."""


class Effect(StrEnum):
    """The effect of a second busy thread on a core's throughput."""

    HELPS = "helps"
    NEUTRAL = "neutral"
    """The interval of the coefficient contains 2."""
    HARMS = "harms"


@dataclass(frozen=True, slots=True)
class Overlap:
    """A measured overlap coefficient."""

    coefficient: float
    """≥ 1."""
    lo: float
    """95 % interval over repetitions; 1 … ∞ for a single pair, whose repeatability is unknown."""
    hi: float
    repetitions: int
    """Repetitions of the side with fewer."""

    @property
    def effect(self) -> Effect:
        """Determined by the interval; for a single pair by the coefficient."""
        lo, hi = (self.lo, self.hi) if self.repetitions > 1 else (self.coefficient, self.coefficient)
        if hi < NEUTRAL:
            return Effect.HELPS
        return Effect.HARMS if lo > NEUTRAL else Effect.NEUTRAL


def from_times(with_overlap_s: float, without_s: float) -> float:
    """OC from the CPU time of the same work with the other thread busy and idle: 6 blocks for 5 are 1.2.

    Raises NotANumber, and Contradictory if the work was faster with the other thread busy.
    """
    found = positive("CPU time with overlap", with_overlap_s) / positive("CPU time without", without_s)
    return _at_least_one(found, found)


def from_throughput(single: ArrayLike, both: ArrayLike) -> Overlap:
    """OC from throughputs of stress tests on one thread and on both, one entry per repetition, in any unit of work.

    The interval is that of a ratio of two means with unequal variances, on logarithms, by Welch's degrees of freedom.
    Raises InsufficientData, NotANumber, and Contradictory where both threads did more than twice one thread's work.
    """
    alone = np.atleast_1d(positives("throughput on one thread", single))
    together = np.atleast_1d(positives("throughput on both threads", both))
    for what, found in (("stress tests on one thread", alone), ("stress tests on both threads", together)):
        enough(what, len(found), 1)
    ratio = float(alone.mean() / (together.mean() / 2))
    repetitions = min(len(alone), len(together))
    if repetitions < 2:
        return Overlap(_at_least_one(ratio, ratio * (1 + _NOISE)), 1.0, np.inf, repetitions)
    parts = [float(side.var(ddof=1) / len(side) / side.mean() ** 2) for side in (alone, together)]
    variance = sum(parts)
    degrees = (
        variance**2
        / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (alone, together), strict=True))
        if variance > 0
        else np.inf
    )
    factor = float(np.exp(_quantile(degrees) * np.sqrt(variance)))
    value = _at_least_one(ratio, ratio * factor * (1 + 1e-12))
    return Overlap(value, max(1.0, ratio / factor), max(value, ratio * factor), repetitions)


def mixed(coefficients: ArrayLike, cpu_time: ArrayLike) -> float:
    """OC of a mix: the mean of its applications' coefficients, weighted by CPU time; 1 … largest of them.

    The paper has no rule for mixes. This one assumes that applications share a core's overlap like its time.
    Raises InsufficientData, NotANumber, BadShape.
    """
    oc, time = numbers_of(coefficients), np.atleast_1d(positives("CPU time", cpu_time))
    enough("applications of a mix", len(oc), 1)
    same_length("Applications of a mix", oc, time)
    # Without the bounds, a mean of ones was rounded to 1 - 2⁻⁵³, an invalid coefficient, and the visit had no load.
    return float(np.clip(oc @ time / time.sum(), oc.min(), oc.max()))


def numbers_of(coefficients: ArrayLike) -> Float:
    """Valid coefficients, ≥ 1; raises NotANumber."""
    return np.atleast_1d(np.asarray([number("overlap coefficient", oc, 1) for oc in np.ravel(coefficients)]))


def _at_least_one(value: float, most: float) -> float:
    """The value, or 1 if noise explains a smaller one."""
    if most < 1:
        raise Contradictory(
            f"An overlap coefficient of {value:.3f} means that a busy neighbour makes work faster: "
            "the two stress tests did different work, or the single thread was throttled."
        )
    return max(value, 1.0)


def _quantile(degrees: float) -> float:
    return confidence.student(min(degrees, 1e9))
