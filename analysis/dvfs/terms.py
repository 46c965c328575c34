"""Coefficients of a time that is a sum of terms, such as A/f + B, and intervals of derived quantities.

Derived quantities are ratios of two linear combinations of the coefficients: a slowdown, a share of the time, the
inverse of a frequency. Fieller's interval is used, which is unbounded where the data give no bound.
Source: Fieller, Journal of the Royal Statistical Society B 16 (1954).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis import confidence
from analysis.arrays import Float
from analysis.measured import Measured


@dataclass(frozen=True, slots=True)
class Terms:
    """k coefficients and their covariance."""

    value: Float
    """(k,)."""
    covariance: Float
    """(k, k)."""
    df: float
    """Degrees of freedom of the covariance; below 1 the covariance is unusable, and every interval is open."""

    def of(self, row: ArrayLike) -> Measured:
        """The linear combination with these factors, (k,), with its 95 % interval."""
        numbers = np.asarray(row, np.float64)
        value = float(numbers @ self.value)
        half = self._t() * float(np.sqrt(max(float(numbers @ self.covariance @ numbers), 0.0)))
        return Measured(value, value - half, value + half) if self.df >= 1 else _open(value)

    def ratio(self, over: ArrayLike, under: ArrayLike) -> Measured:
        """The combination by `over`, (k,), divided by that by `under`, (k,), which is not 0, with its 95 % interval."""
        above, below = np.asarray(over, np.float64), np.asarray(under, np.float64)
        a, b = float(above @ self.value), float(below @ self.value)
        if self.df < 1:
            return _open(a / b)
        square = self._t() ** 2
        aa, ab, bb = (
            square * float(one @ self.covariance @ other)
            for one, other in ((above, above), (above, below), (below, below))
        )
        # Ratios r that are not rejected: (b² − bb)·r² − 2·(a·b − ab)·r + a² − aa ≤ 0.
        leading, middle, last = b * b - bb, a * b - ab, a * a - aa
        if leading <= 0:
            return _open(a / b)
        root = float(np.sqrt(max(middle * middle - leading * last, 0.0)))
        lo, hi = (middle - root) / leading, (middle + root) / leading
        return Measured(a / b, min(lo, a / b), max(hi, a / b))

    def _t(self) -> float:
        return confidence.student(max(self.df, 1.0))


def _open(value: float) -> Measured:
    return Measured(value, -np.inf, np.inf)
