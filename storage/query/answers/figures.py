"""Figures with their intervals, as answers have them."""

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from storage.query.answers.answer import Answer


class Bounded(Protocol):
    """A number with its interval; ends may be infinite."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def lo(self) -> float:
        """The lower end."""
        ...

    @property
    def hi(self) -> float:
        """The upper end."""
        ...


@dataclass(frozen=True, slots=True)
class Interval(Answer):
    """An estimate for the fleet and its 95 % confidence interval."""

    value: float
    lo: float
    hi: float

    def scaled(self, factor: float) -> "Interval":
        """In other units."""
        return Interval(self.value * factor, self.lo * factor, self.hi * factor)


def in_units(interval: Interval | None, factor: float | None) -> Interval | None:
    """The interval times `factor`; None without an estimate or a factor (None or 0)."""
    return interval.scaled(factor) if interval is not None and factor else None


def as_seconds(units: int, scale: float | None) -> float | None:
    """Observed core-seconds; None if the units are not time (`scale` None)."""
    return None if scale is None else units * scale


@dataclass(frozen=True, slots=True)
class Figure(Answer):
    """A figure and its 95 % interval; an end is null where nothing bounds it."""

    value: float
    lo: float | None
    hi: float | None


def figure(found: Bounded | None, factor: float = 1.0) -> Figure | None:
    """The figure times `factor`; None if there is none or it is not finite."""
    if found is None or not isfinite(found.value):
        return None
    lo, hi = (end * factor if isfinite(end) else None for end in (found.lo, found.hi))
    return Figure(found.value * factor, lo, hi)


def definite(found: Bounded, factor: float = 1.0) -> Figure:
    """As `figure`, for a figure that is always finite."""
    made = figure(found, factor)
    assert made is not None, found
    return made
