"""One piece of a degradation function: regression on principal components, as in the paper (DIGEST I4).

1. The piece's pressures are standardised; their means and deviations are kept for predictions.
2. The two pressures are correlated (around 0.8), which makes plain coefficients unstable; their principal components
   are uncorrelated.
3. Degradation is fitted on the components. Components with an insignificant coefficient are removed, one at a time.
4. Observations whose residual's interval excludes 0 are removed, and step 3 is repeated until there are none.

Step 4 calls one in twenty good observations an outlier in each iteration, so the number removed is reported. If it
would remove more than a quarter of them, the observations do not lie on a plane, and the procedure stops before that.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bool, Float
from analysis.errors import Constant
from analysis.input_checks import enough, numbers, same_length
from analysis.least_squares import Fit, fit

SIGNIFICANCE = 0.05
LEAST = 8
"""Minimum observations of a piece."""
_MOST_OUTLIERS = 0.25
"""Maximum share of the observations that may be removed."""
_NO_SPREAD = 1e-9
"""Share of the variance below which a component is rounding: the two pressures are then proportional."""


@dataclass(frozen=True, slots=True)
class Plane:
    """PD = intercept + cache·c + bandwidth·b, in standardised pressures c and b (the form of DIGEST I5)."""

    intercept: float
    cache: float
    bandwidth: float

    def at(self, c: float, b: float) -> float:
        """PD at standardised pressures."""
        return self.intercept + self.cache * c + self.bandwidth * b


@dataclass(frozen=True, slots=True)
class PieceFit:
    """A fitted piece with its quality."""

    plane: Plane
    mean: Float
    """Mean cache pressure and bandwidth of the piece's observations; (2,)."""
    sigma: Float
    """Their standard deviations, 0 for a constant one; (2,)."""
    explained: Float
    """Share of the pressures' variance in each principal component, descending; (2,)."""
    components: Bool
    """Which components are kept; (2,). With none, degradation does not depend on pressure in this piece."""
    observations: int
    outliers: int
    """Number of observations removed."""
    low: Float
    """Smallest pressures observed; (2,)."""
    high: Float
    spread: float
    """Standard deviation of all observations around the function, outliers included: the scatter of another run."""
    _axes: Float
    """Components as columns over the standardised pressures; (2, 2)."""
    _fit: Fit

    @property
    def r2(self) -> float:
        """Share of the degradation's variance explained, without outliers; 0…1."""
        return self._fit.r2

    @property
    def f_p(self) -> float:
        """p-value of the F test of the whole function; 1 if it is constant."""
        return self._fit.f_p

    @property
    def t_p(self) -> Float:
        """p-values of the t tests of the components that were kept."""
        return self._fit.t_p[1:]

    def value(self, pressure: Float) -> float:
        """PD at total pressures (cache, bandwidth), (2,)."""
        c, b = _standardised(pressure, self.mean, self.sigma).tolist()
        return self.plane.at(c, b)

    def half_width(self, pressure: Float) -> float:
        """Half of the 95 % interval of another observation at these pressures.

        It uses the spread of all observations: with that of the remaining ones, intervals contained 82 % of other
        mixes.
        """
        if self._fit.sigma == 0:
            return self._fit.t() * self.spread
        scores = _standardised(pressure, self.mean, self.sigma) @ self._axes
        return (
            float(self._fit.half_width(scores[self.components][None, :])[0]) * self.spread / self._fit.sigma
        )

    def inside(self, pressure: Float) -> bool:
        """Whether the pressures are in the observed range; otherwise the prediction is an extrapolation."""
        return bool(((pressure >= self.low) & (pressure <= self.high)).all())


def fit_piece(pressure: Float, degradation: Float) -> PieceFit:
    """Fit one piece to n mixes: total pressures (n, 2), cache and bandwidth, and the target's PD (n,).

    Raises InsufficientData below 8 mixes, Constant if neither pressure varies, NotANumber, BadShape.
    """
    x, y = numbers("pressure", pressure, 0), numbers("degradation", degradation)
    same_length("Pressure and degradation", x, y)
    enough("mixes in this piece", len(y), LEAST)
    mean, sigma = x.mean(axis=0), x.std(axis=0, ddof=1)
    sigma = np.where(sigma > _NO_SPREAD * np.abs(mean), sigma, 0.0)
    if not sigma.any():
        raise Constant("All mixes of this piece have the same pressure, so its effect cannot be estimated.")
    standard = _standardised(x, mean, sigma)
    variance, axes = np.linalg.eigh(np.cov(standard.T))
    variance, axes = variance[::-1], axes[:, ::-1]
    usable = variance > _NO_SPREAD * variance[0]
    scores = standard @ axes
    kept = np.ones(len(y), np.bool_)
    while True:
        found, components = _stepwise(scores[kept], y[kept], usable)
        outliers = found.outliers(1 - SIGNIFICANCE)
        left = int(kept.sum() - outliers.sum())
        if not outliers.any() or left < max(LEAST, (1 - _MOST_OUTLIERS) * len(y)):
            break
        kept[np.flatnonzero(kept)[outliers]] = False
    off = y - found.at(scores[:, components])
    slopes = axes[:, components] @ found.coefficients[1:]
    return PieceFit(
        plane=Plane(float(found.coefficients[0]), float(slopes[0]), float(slopes[1])),
        mean=mean,
        sigma=sigma,
        explained=np.asarray(np.maximum(variance, 0) / variance.sum()),
        components=components,
        observations=len(y),
        outliers=int((~kept).sum()),
        low=x.min(axis=0),
        high=x.max(axis=0),
        spread=float(np.sqrt(off @ off / (len(y) - len(found.coefficients)))),
        _axes=axes,
        _fit=found,
    )


def _stepwise(scores: Float, y: Float, usable: Bool) -> tuple[Fit, Bool]:
    """The fit on the components with significant coefficients, and these components."""
    components = usable.copy()
    while True:
        found = fit(scores[:, components], y)
        if not components.any() or found.t_p[1:].max() <= SIGNIFICANCE:
            return found, components
        components[np.flatnonzero(components)[np.argmax(found.t_p[1:])]] = False


def _standardised(pressure: Float, mean: Float, sigma: Float) -> Float:
    """In standard deviations from the mean; 0 for a constant pressure."""
    return np.asarray(np.divide(pressure - mean, sigma, out=np.zeros(np.shape(pressure)), where=sigma > 0))
