"""Fits times by columns such as 1/f and 1 with equal relative errors, since a time's scatter is proportional to it.

Coefficients of times cannot be negative. If least squares gives a negative one, the nearest solution without is
returned; the caller, which interprets the columns, decides whether the data contradict the model.
"""

from dataclasses import dataclass

import numpy as np

from analysis import confidence
from analysis.arrays import Float

_NOISE = 0.02
"""Runs scatter by about a percent: larger deviations are not chance if there are no other data on repeatability."""


@dataclass(frozen=True, slots=True)
class RelativeFit:
    """The fit of n times by k columns."""

    value: Float
    """Coefficients ≥ 0; (k,)."""
    free: Float
    """Unconstrained coefficients; (k,)."""
    inverse: Float
    """Inverse of the design's Gram matrix, to which variances are proportional; (k, k)."""
    spread: float
    """Relative standard deviation of times around the fit; NaN without degrees of freedom."""
    df: int
    """n − k."""
    _free_spread: float
    _worst: float

    @property
    def clipped(self) -> bool:
        """A coefficient was negative and is set to 0."""
        return bool((self.value == 0).any())

    def surely_negative(self) -> tuple[int, ...]:
        """Columns with a coefficient below 0 beyond chance: with an interval of twice the width."""
        if self.df < 1:
            return tuple(np.flatnonzero(self.free < 0).tolist()) if self._worst > _NOISE else ()
        half = 2 * confidence.student(self.df) * self._free_spread * np.sqrt(np.diag(self.inverse))
        # Rounding turns a coefficient of 0 into one slightly below.
        least = 1e-9 * np.abs(self.free).max()
        return tuple(np.flatnonzero(self.free + half < -least).tolist())


def relative_fit(columns: Float, time: Float) -> RelativeFit:
    """Fit times > 0, (n,), by columns of full rank with values near 1, (n, k), n ≥ k."""
    from scipy import optimize  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    design = columns / time[:, None]
    ones = np.ones(len(time))
    value, _ = optimize.nnls(design, ones)
    # The pseudo-inverse is of the design: in its Gram matrix a term of 1e-9 next to 1 would be lost as rounding.
    half = np.linalg.pinv(design)
    free = half @ ones
    left, free_left = ones - design @ value, ones - design @ free
    df = len(time) - design.shape[1]
    spread, free_spread = (
        float(np.sqrt(each @ each / df)) if df > 0 else np.nan for each in (left, free_left)
    )
    return RelativeFit(
        value=np.asarray(value, np.float64),
        free=np.asarray(free, np.float64),
        inverse=half @ half.T,
        spread=spread,
        df=df,
        _free_spread=free_spread,
        _worst=float(np.abs(left).max()),
    )
