"""How an application's time depends on the frequency, as a share of it that does not, with an interval.

With s the share of the time at the base frequency f0 that waits for memory, time at f relative to that is (1 − s)·f0/f + s
(DIGEST D3, D7). It is linear in s, so the ends of the interval of s are those of everything that follows.
"""

from dataclasses import dataclass

import numpy as np

from analysis.errors import Unbounded, Unreachable
from analysis.input_checks import positive
from analysis.measured import Measured


@dataclass(frozen=True, slots=True)
class FleetSensitivity:
    """How an application's time depends on frequency, from the counters of many visits."""

    off_chip_share: Measured
    """Share of its time at `base_hz` that waits for memory, 0…1."""
    base_hz: float
    visits: int
    low_confidence: bool
    """Too few visits contribute: the interval is wide, and not to be narrowed by belief."""

    def slowdown(self, hertz: float, waiting: float = 1.0) -> Measured:
        """How much longer the application takes than at the base frequency, time ratio − 1, with its interval.

        `waiting`: how many times as long it waits, as with another memory (`memory.MemoryChange`).
        """
        gain = self.base_hz / positive("frequency in Hz", hertz) - 1
        more = positive("factor on the time that waits", waiting) - 1
        share = self.off_chip_share
        value, *ends = (gain * (1 - each) + more * each for each in (share.value, share.lo, share.hi))
        return Measured(value, min(value, *ends), max(value, *ends))

    def lowest_frequency(self, performance: float, waiting: float = 1.0) -> Measured:
        """Lowest frequency in Hz that keeps P relative to the base; take `hi` to be safe. ∞ where an end has none.

        Raises Unreachable where the value itself has none, and Unbounded where nothing is on the chip and any frequency keeps P.
        """
        share = self.off_chip_share
        if share.value == 1 and waiting <= 1 / positive("target performance", performance):
            safe = self._frequency(share.lo, performance, waiting)
            raise Unbounded(
                f"Any frequency keeps {performance:.1%} of the performance: no time is left to the clock."
                + (f" By its interval {safe / 1e6:,.0f} MHz is safe." if 0 < safe < np.inf else "")
            )
        value = self._frequency(share.value, performance, waiting)
        if value == np.inf:
            raise Unreachable(
                f"No frequency makes it {performance:g} times as fast: waiting for memory alone bounds it at"
                f" {1 / (share.value * waiting):.3f}."
            )
        ends = [self._frequency(end, performance, waiting) for end in (share.lo, share.hi)]
        return Measured(value, min(value, *ends), max(value, *ends))

    def _frequency(self, share: float, performance: float, waiting: float) -> float:
        left = 1 / positive("target performance", performance) - share * waiting
        return (1 - share) * self.base_hz / left if left > 0 else np.inf
