"""An application's frequency dependence as the share of its time that is independent of frequency, with an interval.

With s the share of the time at the base frequency f0 that waits for memory, relative time at f is (1 − s)·f0/f + s
(DIGEST D3, D7). It is linear in s, so the ends of the interval of s determine those of all derived quantities.
"""

from dataclasses import dataclass

import numpy as np

from analysis.errors import Unbounded, Unreachable
from analysis.input_checks import positive
from analysis.measured import Measured


@dataclass(frozen=True, slots=True)
class FleetSensitivity:
    """The frequency dependence of an application's time, from the counters of many visits."""

    off_chip_share: Measured
    """Share of its time at `base_hz` that waits for memory, 0…1."""
    base_hz: float
    visits: int
    low_confidence: bool
    """Too few visits contribute: the interval is wide, and its width is justified."""

    def slowdown(self, hertz: float, waiting: float = 1.0) -> Measured:
        """The application's time relative to the base frequency, time ratio − 1, with its interval.

        `waiting` is the factor of the waiting time, for example with another memory (`memory.MemoryChange`).
        """
        gain = self.base_hz / positive("frequency in Hz", hertz) - 1
        more = positive("factor on the waiting time", waiting) - 1
        share = self.off_chip_share
        value, *ends = (gain * (1 - each) + more * each for each in (share.value, share.lo, share.hi))
        return Measured(value, min(value, *ends), max(value, *ends))

    def lowest_frequency(self, performance: float, waiting: float = 1.0) -> Measured:
        """Lowest frequency in Hz with performance P relative to the base; use `hi` to be safe. ∞ if an end has none.

        Raises Unreachable if the value itself has none, and Unbounded if nothing is on the chip, so that any frequency
        suffices.
        """
        share = self.off_chip_share
        if share.value == 1 and waiting <= 1 / positive("target performance", performance):
            safe = self._frequency(share.lo, performance, waiting)
            raise Unbounded(
                f"Any frequency keeps {performance:.1%} of the performance: no time depends on the clock."
                + (f" By its interval, {safe / 1000000.0:,.0f} MHz is safe." if 0 < safe < np.inf else "")
            )
        value = self._frequency(share.value, performance, waiting)
        if value == np.inf:
            raise Unreachable(
                f"No frequency makes it {performance:g} times as fast: waiting for memory limits it "
                f"to {1 / (share.value * waiting):.3f}."
            )
        ends = [self._frequency(end, performance, waiting) for end in (share.lo, share.hi)]
        return Measured(value, min(value, *ends), max(value, *ends))

    def _frequency(self, share: float, performance: float, waiting: float) -> float:
        left = 1 / positive("target performance", performance) - share * waiting
        return (1 - share) * self.base_hz / left if left > 0 else np.inf
