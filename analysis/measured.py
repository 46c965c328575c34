"""A figure with its interval."""

from dataclasses import dataclass
from math import exp, hypot, inf, log


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure and its 95 % interval, lo ≤ value ≤ hi; ±∞ where unbounded."""

    value: float
    lo: float
    hi: float

    @property
    def exact(self) -> bool:
        """Whether the interval has zero width, as for a given figure."""
        return self.lo == self.hi

    def holds(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return self.lo <= value <= self.hi


def given(value: float) -> Measured:
    """A figure that is taken as exact, such as a price."""
    return Measured(value, value, value)


def quotient(over: Measured, under: Measured) -> Measured:
    """A figure above 0 divided by another, measured independently.

    The interval combines both relative errors on logarithms, by the square root of their squares' sum. An end at 0
    makes that side unbounded.
    """
    value = over.value / under.value
    below = hypot(_stretch(over.lo, over.value), _stretch(under.value, under.hi))
    beyond = hypot(_stretch(over.value, over.hi), _stretch(under.lo, under.value))
    return Measured(value, value * exp(-below), value * exp(beyond) if beyond < inf else inf)


def _stretch(low: float, high: float) -> float:
    """Their distance on a logarithmic scale."""
    return log(high / low) if low > 0 else inf
