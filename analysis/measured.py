"""A figure and how sure it is."""

from dataclasses import dataclass


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
