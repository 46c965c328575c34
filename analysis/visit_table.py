"""What each visit saw of each row: the input of diffs and of reliability figures."""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape


@dataclass(frozen=True, slots=True)
class VisitTable:
    """V visits × R rows, sparse: one entry of `row`, `visit`, `y` per pair with y > 0, each pair once."""

    key: Int
    """A number for each visit, the same wherever the visit appears; (V,), each once."""
    stratum: Int
    """Stratum it was drawn from; (V,). Not its day: two selections often are two days."""
    weight: Float
    """Units of the fleet per unit observed; (V,)."""
    x: Float
    """Units of the whole selection seen by the visit, > 0; (V,)."""
    row: Int
    visit: Int
    """Index into `x`."""
    y: Float
    """Units of the row seen by the visit."""
    rows: int

    def __post_init__(self) -> None:
        v = len(self.x)
        if not len(self.key) == len(self.stratum) == len(self.weight) == v:
            raise BadShape("Visits need a key, a stratum, a weight and an x each.")
        if not len(self.row) == len(self.visit) == len(self.y):
            raise BadShape("Pairs need a row, a visit and a y each.")
        if len(self.row) and (self.row.max() >= self.rows or self.visit.max() >= v):
            raise BadShape("A pair names a row or a visit that is not there.")

    @property
    def visits(self) -> int:
        """Visits with a sample of the selection."""
        return len(self.x)

    @property
    def shares(self) -> Float:
        """Estimated share of each row in the selection, 0…1; (R,); zeros when there is nothing."""
        whole = float((self.weight * self.x).sum())
        return (
            sums(self.row, self.weight[self.visit] * self.y, self.rows) / whole
            if whole > 0
            else np.zeros(self.rows)
        )
