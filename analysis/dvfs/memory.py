"""Effect of another memory frequency on the waiting time; extends DIGEST D1, which assumes one memory frequency.

A miss waits for caches and links, whose clocks do not change, and for the memory, whose time scales with the ratio of
its frequencies. Runs at one memory frequency cannot separate the two, so the part of a miss that scales with the
memory's clock is an assumption. With 1 the result is the largest possible effect of latency, with 0 there is no effect.
"""

from dataclasses import dataclass

from analysis.input_checks import number, positive

LIMITS = (
    (
        "The part of a miss that scales with the memory's clock is assumed, not measured; part 1 gives "
        "the largest possible effect of latency."
    ),
    (
        "A program that is limited by the memory's bandwidth, not its latency, gains more from faster "
        "memory than this figure."
    ),
)
"""Limitations, shown with every prediction for another memory frequency."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change from the measured memory frequency to another."""

    measured_hz: float
    target_hz: float
    part: float = 1.0
    """Part of the waiting time that scales with the memory's clock, 0…1."""

    def __post_init__(self) -> None:
        """Raise NotANumber for invalid values."""
        positive("measured memory frequency in Hz", self.measured_hz)
        positive("other memory frequency in Hz", self.target_hz)
        number("part of a miss that scales with the memory's clock", self.part, 0, 1)

    @property
    def waiting(self) -> float:
        """Waiting time relative to the measured one; below 1 with a faster memory."""
        return 1 + self.part * (self.measured_hz / self.target_hz - 1)
