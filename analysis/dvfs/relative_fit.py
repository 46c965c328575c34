"""Times fitted by columns, such as 1/f and 1, with their relative errors alike: a run's time repeats to a share of itself.

Coefficients of times cannot be negative. Where least squares says so, the nearest answer without is given; whether the data then
contradict the model is for the caller to say, who knows what the columns mean.
"""

from dataclasses import dataclass

import numpy as np

from analysis import confidence
from analysis.arrays import Float

_NOISE = 0.02
"""Runs repeat to about a percent: what is off by more than this is no chance, where nothing else says how well they repeat."""


@dataclass(frozen=True, slots=True)
class RelativeFit:
    """The fit of n times by k columns."""

    value: Float
    """Coefficients ≥ 0; (k,)."""
    free: Float
    """What they would be if they could be negative; (k,)."""
    inverse: Float
    """Of the design's square, with which variances grow; (k, k)."""
    spread: float
    """Standard deviation of times around the fit, relative; NaN where none is left over to say."""
    df: int
    """n − k."""
    _free_spread: float
    _worst: float

    @property
    def clipped(self) -> bool:
        """A coefficient is 0 because it would have been negative."""
        return bool((self.value == 0).any())

    def surely_negative(self) -> tuple[int, ...]:
        """Columns whose coefficient is below 0 by more than chance: with an interval of twice the width."""
        if self.df < 1:
            return tuple(np.flatnonzero(self.free < 0).tolist()) if self._worst > _NOISE else ()
        half = 2 * confidence.student(self.df) * self._free_spread * np.sqrt(np.diag(self.inverse))
        # A coefficient that is 0 comes out of rounding as one a little below.
        least = 1e-9 * np.abs(self.free).max()
        return tuple(np.flatnonzero(self.free + half < -least).tolist())


def relative_fit(columns: Float, time: Float) -> RelativeFit:
    """The fit of times > 0, (n,), by columns of full rank whose numbers are near 1, (n, k) with n ≥ k."""
    from scipy import optimize  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    design = columns / time[:, None]
    ones = np.ones(len(time))
    value, _ = optimize.nnls(design, ones)
    # Of the design and not of its square: with 1e-9 beside 1 the smaller term is dropped as rounding.
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
