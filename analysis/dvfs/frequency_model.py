"""A run's time at any frequency: T(f) = A/f + B, with A cycles on the chip and B seconds of waiting for memory.

However A and B were determined, performance relative to a known run is P(f) = T0/T(f) and never reaches T0/B
(DIGEST D3, D7). The naive model, P = f/f0, is the case B = 0.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import Contradictory, Unbounded, Unreachable
from analysis.input_checks import number, positive, positives

LIMITS = (
    "The model assumes that misses wait one after another; a program that overlaps misses waits less.",
    "Memory latency is a mean of the platform; it grows with the load of its memory.",
    (
        "The model does not include write-backs, I/O and programs on other cores, and does not predict "
        "turbo frequencies."
    ),
)
"""Limitations of the model, shown with every prediction (DIGEST D8)."""


@dataclass(frozen=True, slots=True)
class FrequencyModel:
    """Time on and off the chip of one run, or of all work of an application."""

    on_chip_cycles: float
    """A: cycles whose time shrinks with rising frequency, ≥ 0."""
    off_chip_s: float
    """B: seconds that do not depend on the frequency, ≥ 0."""

    def __post_init__(self) -> None:
        number("cycles on the chip", self.on_chip_cycles, 0)
        number("seconds off the chip", self.off_chip_s, 0)
        if self.on_chip_cycles == 0 and self.off_chip_s == 0:
            raise Contradictory("A run needs time on the chip or off it.")

    def time(self, hertz: ArrayLike) -> Float:
        """Seconds at these frequencies."""
        return np.asarray(self.on_chip_cycles / positives("frequency in Hz", hertz) + self.off_chip_s)

    def performance(self, hertz: ArrayLike, base_hz: float) -> Float:
        """P: time at the base frequency over time at these; above 1 is faster."""
        return np.asarray(self.time(base_hz) / self.time(hertz))

    def slowdown(self, hertz: ArrayLike, base_hz: float) -> Float:
        """Time relative to the base frequency, time ratio − 1; below 0 is faster."""
        return np.asarray(self.time(hertz) / self.time(base_hz) - 1)

    def off_chip_share(self, hertz: float) -> float:
        """Share of the time at this frequency that waits for memory, 0…1."""
        return self.off_chip_s / float(self.time(hertz))

    def best_performance(self, base_hz: float) -> float:
        """Upper bound of P over all frequencies, relative to the base; ∞ for a run that never waits."""
        return float(self.time(base_hz)) / self.off_chip_s if self.off_chip_s > 0 else inf

    def lowest_frequency(self, performance: float, base_hz: float) -> float:
        """Lowest frequency in Hz with P at the target: f = A/(T0/P − B) (DIGEST D7).

        Raises Unreachable if no frequency suffices, and Unbounded if nothing is on the chip, so that any does.
        """
        wanted = float(self.time(base_hz)) / positive("target performance", performance)
        if self.on_chip_cycles == 0 and wanted >= self.off_chip_s:
            raise Unbounded(
                f"Any frequency keeps {performance:.1%} of the performance: no time depends on the clock."
            )
        if wanted <= self.off_chip_s:
            raise Unreachable(
                f"No frequency makes it {performance:g} times as fast: waiting for memory limits it "
                f"to {self.best_performance(base_hz):.3f}."
            )
        return self.on_chip_cycles / (wanted - self.off_chip_s)


def naive(hertz: ArrayLike, base_hz: float) -> Float:
    """Performance if all time were on the chip: f/f0 (DIGEST D3)."""
    return np.asarray(positives("frequency in Hz", hertz) / positive("base frequency in Hz", base_hz))
