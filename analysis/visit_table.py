"""Observations by visit and row: the input of diffs and of reliability figures."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape
from analysis.input_checks import numbers


@dataclass(frozen=True, slots=True)
class VisitTable:
    """V visits × R rows, sparse: one entry of `row`, `visit`, `y` per pair with y > 0, each pair once."""

    key: Int
    """A unique id for each visit, the same wherever the visit appears; (V,)."""
    stratum: Int
    """The stratum it was drawn from; (V,). Independent of its day, since two selections are often two days."""
    weight: Float
    """Units of the fleet per observed unit; (V,)."""
    x: Float
    """Units of the whole selection observed by the visit, > 0; (V,)."""
    row: Int
    visit: Int
    """Index into `x`."""
    y: Float
    """Units of the row observed by the visit."""
    rows: int

    def __post_init__(self) -> None:
        v = len(self.x)
        if not len(self.key) == len(self.stratum) == len(self.weight) == v:
            raise BadShape("Visits need a key, a stratum, a weight and an x each.")
        if not len(self.row) == len(self.visit) == len(self.y):
            raise BadShape("Pairs need a row, a visit and a y each.")
        if len(self.row) and (self.row.max() >= self.rows or self.visit.max() >= v):
            raise BadShape("A pair refers to a row or a visit that does not exist.")
        for what, values in (
            ("weights", self.weight),
            ("units of visits", self.x),
            ("units of rows", self.y),
        ):
            numbers(what, values, 0)

    @property
    def visits(self) -> int:
        """Visits with a sample of the selection."""
        return len(self.x)

    @property
    def shares(self) -> Float:
        """Estimated share of each row in the selection, 0…1; (R,); zeros without observations."""
        whole = float((self.weight * self.x).sum())
        return (
            sums(self.row, self.weight[self.visit] * self.y, self.rows) / whole
            if whole > 0
            else np.zeros(self.rows)
        )

    def of(self, visits: Int) -> "VisitTable":
        """The table of these visits, each once and numbered in the given order."""
        number = np.full(self.visits, -1, np.int64)
        number[visits] = np.arange(len(visits))
        pairs = number[self.visit] >= 0
        return replace(
            self,
            key=self.key[visits],
            stratum=self.stratum[visits],
            weight=self.weight[visits],
            x=self.x[visits],
            row=self.row[pairs],
            visit=number[self.visit[pairs]],
            y=self.y[pairs],
        )


def scattered(keys: Int) -> npt.NDArray[np.uint64]:
    """SplitMix64's finalizer (Steele et al. 2014): scatters the keys of consecutive visits."""
    mixed = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
