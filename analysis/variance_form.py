"""The variance of a sum over visits as a quadratic form of sums by group and by stratum (`analysis.moments`)."""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.weights import CLASSES, Weights

_DENSE, _FEW = 8, 1 << 12
"""Limits for using a dense table: entries per existing pair, and entries in total."""


@dataclass(frozen=True, slots=True)
class VarianceForm:
    """The variance as a quadratic form: `square`·Σz² + `group`·Z_c² − `stratum`·Z²."""

    square: Float
    """One per group, like `group`."""
    group: Float
    stratum: Float
    """One per stratum."""
    df: float
    """Degrees of freedom: ingested visits minus the number of strata with at least two."""

    @classmethod
    def of(cls, weights: Weights) -> "VarianceForm":
        """The form for the groups and strata of these weights."""
        strata = len(weights.fpc)
        shape = (strata, CLASSES)
        n, share = weights.visits.reshape(shape), weights.share.reshape(shape)
        ingested = n.sum(axis=1)
        alone = ingested <= 1
        fpc = weights.fpc[:, None]
        between = np.where(alone, 0.0, 1 / np.maximum(weights.drawn - 1, 1))
        within = np.where(n > 1, 1 / np.maximum(n - 1, 1), 0.0)
        across = np.divide(between[:, None], share, out=np.zeros(shape), where=share > 0)
        return cls(
            square=(fpc * np.where(n > 1, n * within, 1.0)).ravel(),
            group=(fpc * (across - within)).ravel(),
            stratum=weights.fpc * between,
            df=float(np.where(alone, ingested, ingested - 1).sum()),
        )


@dataclass(frozen=True, slots=True)
class SumsByKey:
    """Sums by key."""

    key: Int
    """Ascending, unique."""
    sum: Float

    @classmethod
    def of(cls, key: Int, values: Float) -> "SumsByKey":
        """Sum values by their keys ≥ 0."""
        (there, _), sum_of = sums_by_pair(key, np.zeros(len(key), np.int64), values, 1)
        return cls(there, sum_of)

    def at(self, keys: Int) -> Float:
        """The sums of these keys, which must all exist."""
        return self.sum[np.searchsorted(self.key, keys)]


def sums_by_pair(of: Int, row: Int, z: Float, rows: int) -> tuple[tuple[Int, Int], Float]:
    """The distinct pairs of group (stratum) and row, and the sum of z over each."""
    pair = of * np.int64(max(rows, 1)) + row
    size = int(pair.max(initial=-1)) + 1
    if size <= max(
        _DENSE * len(pair), _FEW
    ):  # a table of all possible pairs costs less than sorting the existing ones
        there = np.flatnonzero(np.bincount(pair, minlength=size))
        sum_of = sums(pair, z, size)[there]
    else:
        there, place = np.unique(pair, return_inverse=True)
        sum_of = sums(place.astype(np.int64), z, len(there))
    first, second = np.divmod(there, np.int64(max(rows, 1)))
    return (first, second), sum_of
