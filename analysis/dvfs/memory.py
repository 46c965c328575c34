"""What another frequency of the memory would do to the time that waits for it; beyond DIGEST D1, which knows one memory only.

A miss waits for caches and links, which keep their clocks, and for the memory, which is slower by the ratio of its frequencies. From
runs at one frequency of the memory nobody can tell the two parts: the part of a miss that goes with the memory's clock is an assumption.
With all of it (1) the answer is the most that the memory's frequency can do by latency, with none (0) the frequency does nothing.
"""

from dataclasses import dataclass

from analysis.input_checks import number, positive

LIMITS = (
    "What part of a miss goes with the memory's clock is assumed, not measured: with all of it the figure is the most that latency does.",
    "A program that is held up by the memory's bandwidth, not its latency, gains more from a faster memory than this figure.",
)
"""What is to be shown beside every prediction for another frequency of the memory."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """From the frequency of the memory that was measured with to another."""

    measured_hz: float
    target_hz: float
    part: float = 1.0
    """Of the time that waits, what goes with the memory's clock, 0…1."""

    def __post_init__(self) -> None:
        """Raises NotANumber."""
        positive("measured memory frequency in Hz", self.measured_hz)
        positive("other memory frequency in Hz", self.target_hz)
        number("part of a miss that goes with the memory's clock", self.part, 0, 1)

    @property
    def waiting(self) -> float:
        """How many times as long as measured the waiting takes; below 1 with a faster memory."""
        return 1 + self.part * (self.measured_hz / self.target_hz - 1)
