"""Ordinary least squares with diagnostics of the fit.

y = X·β + ε with an intercept first. Standard errors, t and F tests and intervals assume independent errors of equal
variance. Applications are load tests, mixes and hours of a day; each model documents where the assumption is doubtful.
Source: Draper and Smith, Applied Regression Analysis (1998), chapters 1, 5 and 8.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Float
from analysis.confidence import LEVEL, student
from analysis.errors import BadShape, Constant, InsufficientData

_ROUNDING = 1e-20
"""Residual sum of squares of a perfect fit due to rounding, relative to that of the values."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit of n observations with k coefficients, the intercept first."""

    coefficients: Float
    """(k,)."""
    covariance: Float
    """Of the coefficients; (k, k). All zeros without spread around the fit."""
    residuals: Float
    """(n,)."""
    leverage: Float
    """Weight of each observation in its own fitted value, 0…1; (n,)."""
    sigma: float
    """Standard deviation around the fit, in units of y."""
    df: int
    """n − k."""
    r2: float
    """Share of the variance explained, 0…1."""
    f: float
    """F of all slopes together; ∞ for a perfect fit, 0 without slopes."""
    f_p: float
    """Probability of such an F or a larger one if nothing depends on X."""
    t_p: Float
    """Probability of such a coefficient, or one further from 0, if it is 0; (k,)."""

    def at(self, x: Float) -> Float:
        """Fitted values for rows of x without the intercept column; (m, k − 1) → (m,)."""
        return np.asarray(_design(x) @ self.coefficients)

    def half_width(self, x: Float, level: float = LEVEL) -> Float:
        """Half of the prediction interval of a *new observation* at each row of x; (m,)."""
        design = _design(x)
        variance = self.sigma**2 + np.einsum("ij,jk,ik->i", design, self.covariance, design)
        return np.asarray(self.t(level) * np.sqrt(np.maximum(variance, 0.0)))

    def t(self, level: float = LEVEL) -> float:
        """Quantile of Student's t for a two-sided interval."""
        return student(self.df, level)

    def outliers(self, level: float) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Observations whose residual's interval excludes 0; (n,).

        The residual's own observation is left out of the variance (externally studentised), as is common in statistics
        programs.
        """
        if self.df < 2 or self.sigma == 0:
            return np.zeros(len(self.residuals), np.bool_)
        left = np.maximum(1 - self.leverage, 1e-12)
        others = self.sigma**2 * self.df - self.residuals**2 / left
        error = np.sqrt(np.maximum(others, 0.0) / (self.df - 1) * left)
        # If the others fit without error, any deviation is an outlier; there is nothing to divide by.
        return np.abs(self.residuals) > float(special.stdtrit(self.df - 1, (1 + level) / 2)) * error


def fit(x: Float, y: Float) -> Fit:
    """Fit y, (n,), on the columns of x, (n, k − 1); k = 1 fits the mean.

    Raises InsufficientData for fewer than k + 1 observations, Constant if columns of x are constant or linearly
    dependent.
    """
    if len(x) != len(y):
        raise BadShape("A regression needs a row of x for each y.")
    design = _design(x)
    n, k = design.shape
    if n < k + 1:
        raise InsufficientData(
            f"{n} observations are too few for {k} coefficients: at least {k + 1} are needed."
        )
    scale = np.sqrt((design**2).mean(axis=0))
    if (scale == 0).any() or np.linalg.matrix_rank(design / scale, tol=1e-9 * np.sqrt(n)) < k:
        raise Constant("An explanatory variable of the fit does not vary, or depends on another one.")
    q, r = np.linalg.qr(design)
    coefficients = np.linalg.solve(r, q.T @ y)
    residuals = y - design @ coefficients
    left, all_squares = float(residuals @ residuals), float(((y - y.mean()) ** 2).sum())
    if left <= _ROUNDING * float(y @ y):
        left, residuals = 0.0, np.zeros(n)
    df = n - k
    inverse = np.linalg.inv(r)
    covariance = inverse @ inverse.T * (left / df)
    f, f_p = _f_test(max(all_squares - left, 0.0), left, k - 1, df)
    error = np.sqrt(np.diag(covariance))
    t = np.divide(np.abs(coefficients), error, out=np.full(k, np.inf), where=error > 0)
    return Fit(
        coefficients=coefficients,
        covariance=covariance,
        residuals=residuals,
        leverage=np.asarray((q**2).sum(axis=1)),
        sigma=float(np.sqrt(left / df)),
        df=df,
        r2=1 - left / all_squares if all_squares > 0 else 1.0,
        f=f,
        f_p=f_p,
        t_p=np.where((error == 0) & (coefficients == 0), 1.0, 2 * special.stdtr(df, -np.minimum(t, 1e300))),
    )


def _f_test(explained: float, left: float, slopes: int, df: int) -> tuple[float, float]:
    if slopes == 0 or explained == 0:
        return 0.0, 1.0
    if left == 0:
        return np.inf, 0.0
    f = explained / slopes / (left / df)
    return f, float(special.fdtrc(slopes, df, f))


def _design(x: Float) -> Float:
    return np.column_stack([np.ones(len(x)), x])
