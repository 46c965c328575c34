"""Observations of one function by visit and labels: the input of an attribution."""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape
from analysis.input_checks import numbers


@dataclass(frozen=True, slots=True)
class Parts:
    """V visits of one selection, in P parts: one for each visit and combination of dimensions' values."""

    key: Int
    """A unique id for each visit, the same wherever it appears; (V,)."""
    stratum: Int
    """(V,)."""
    weight: Float
    """Units of the fleet per observed unit; (V,)."""
    visit: Int
    """Visit of each part; (P,)."""
    values: Int
    """Number of the value in each of D dimensions, 0, 1, …; (P, D)."""
    y: Float
    """Units of the function in the part; (P,), ≥ 0."""
    x: Float
    """Units of everything in the part; (P,), ≥ y."""

    def __post_init__(self) -> None:
        if not len(self.key) == len(self.stratum) == len(self.weight):
            raise BadShape("Visits need a key, a stratum and a weight each.")
        if not len(self.visit) == len(self.values) == len(self.y) == len(self.x) or self.values.ndim != 2:
            raise BadShape("Parts need a visit, a value of each dimension, a y and an x each.")
        if len(self.visit) and (self.visit.max() >= len(self.key) or self.values.min(initial=0) < 0):
            raise BadShape("A part refers to a visit or a value that does not exist.")
        numbers("units of the function", self.y, 0)
        numbers("units of everything beside those of the function", self.x - self.y, 0)
        numbers("weight", self.weight, 0)

    @property
    def visits(self) -> int:
        """V."""
        return len(self.key)

    def by_value(self, column: Int, count: int) -> tuple[Float, Float]:
        """Units of the function and of everything for each visit and column of its parts; (V, count) each."""
        place = self.visit * count + column
        y, x = (sums(place, units, self.visits * count) for units in (self.y, self.x))
        return y.reshape(-1, count), x.reshape(-1, count)

    def whole(self) -> tuple[Float, Float]:
        """Units of the function and of everything for each visit; (V,) each."""
        return sums(self.visit, self.y, self.visits), sums(self.visit, self.x, self.visits)


def sum_of_values(now: Parts, before: Parts, dimension: int) -> Float:
    """Weighted units of everything for each value 0, 1, … of a dimension, normalised to 1 per selection."""
    count = 1 + max(int(parts.values[:, dimension].max(initial=-1)) for parts in (now, before))
    found = np.zeros(count)
    for parts in (now, before):
        units = sums(parts.values[:, dimension], parts.weight[parts.visit] * parts.x, count)
        found += units / max(float(units.sum()), float(np.finfo(np.float64).tiny))
    return found
