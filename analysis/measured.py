"""A figure and how sure it is."""

from dataclasses import dataclass
from math import exp, hypot, inf, log


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure and its 95 % interval, lo ≤ value ≤ hi; ±∞ where nothing bounds it."""

    value: float
    lo: float
    hi: float

    @property
    def exact(self) -> bool:
        """Whether it has no width, as that of a figure which was given and not measured."""
        return self.lo == self.hi

    def holds(self, value: float) -> bool:
        """Whether `value` lies in the interval."""
        return self.lo <= value <= self.hi


def given(value: float) -> Measured:
    """A figure that is taken for granted, such as a price."""
    return Measured(value, value, value)


def quotient(over: Measured, under: Measured) -> Measured:
    """One figure above 0 divided by another, measured independently of it.

    The interval is made of both on logarithms, where that of a ratio is the two put together at a right angle. An end at 0 bounds
    nothing on that side.
    """
    value = over.value / under.value
    below = hypot(_stretch(over.lo, over.value), _stretch(under.value, under.hi))
    beyond = hypot(_stretch(over.value, over.hi), _stretch(under.lo, under.value))
    return Measured(value, value * exp(-below), value * exp(beyond) if beyond < inf else inf)


def _stretch(low: float, high: float) -> float:
    """How far apart they are on a logarithmic scale."""
    return log(high / low) if low > 0 else inf
