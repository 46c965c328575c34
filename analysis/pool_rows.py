"""Rows of two selections' visits, prepared for reweighting in every permutation."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from analysis.arrays import Bool, Float

SPARSE_COST = 3
"""Cost of a product per stored entry, relative to an entry of a dense table (0.30 and 0.11 ns measured)."""
_LEAST_ERROR = 1e-6
"""Smallest standard error of a share, as a part of the share. A row that has every sample of every visit does not vary:
its error would be the rounding of the sums, and the quotient of rounding by rounding was called a change."""

_CACHED = 1 << 17
"""Weights of visits that a core's cache holds beside their results: a megabyte."""


@dataclass(frozen=True, slots=True)
class PoolRows:
    """R rows × D visits: dense if most visits have most rows, else sparse."""

    y: Float | csr_array
    yy: Float | csr_array
    """y², elementwise."""
    yx: Float | csr_array
    """y times the visit's x."""
    x: Float
    """(D,)."""

    @classmethod
    def of(cls, y: coo_array, x: Float) -> "PoolRows":
        """The rows, each pair of row and visit once."""
        rows = y.tocsr()
        squared = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        crossed = csr_array((rows.data * x[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
        if entries(y.shape[0], y.shape[1], y.nnz) < y.shape[0] * y.shape[1]:
            return cls(rows, squared, crossed, x)
        return cls(rows.toarray(), squared.toarray(), crossed.toarray(), x)

    @property
    def count(self) -> int:
        """R."""
        return int(self.y.shape[0])

    def take(self, chosen: Bool) -> "PoolRows":
        """Only the chosen rows."""
        return PoolRows(self.y[chosen], self.yy[chosen], self.yx[chosen], self.x)

    def shares(self, weight: Float) -> tuple[Float, Float]:
        """Shares and their variances by linearisation, (R, n) each, for n weights of every visit, (D, n)."""
        if (
            isinstance(self.y, csr_array)
            and (some := max(_CACHED // max(len(self.x), 1), 32)) < weight.shape[1]
        ):
            # A sparse product reads the weights once per entry: twice as fast from a core's cache.
            parts = [
                self._shares(np.ascontiguousarray(weight[:, first : first + some]))
                for first in range(0, weight.shape[1], some)
            ]
            shares, variances = zip(*parts, strict=True)
            return np.concatenate(shares, axis=1), np.concatenate(variances, axis=1)
        return self._shares(weight)

    def _shares(self, weight: Float) -> tuple[Float, Float]:
        whole = np.maximum(self.x @ weight, np.finfo(np.float64).tiny)
        p = (self.y @ weight) / whole
        squared = weight**2
        n = np.maximum((weight > 0).sum(axis=0), 2)
        spread = self.yy @ squared - 2 * p * (self.yx @ squared) + p**2 * ((self.x * self.x) @ squared)
        variance = np.maximum(spread, 0.0) / whole**2 * (n / (n - 1))
        return p, np.maximum(variance, (_LEAST_ERROR * p) ** 2)


def entries(rows: int, visits: int, pairs: int) -> int:
    """Cost of one product, in entries of a dense table."""
    return min(rows * visits, SPARSE_COST * pairs)
