"""Forecasts the maximum request rate of a service from a day of its load: a line extrapolated to 100 %.

Load rises with the request rate; capacity ends where the line reaches 1. Plain utilisation predicts too much, since the
second half of a core with two threads gives less than the first; APU rises linearly (DIGEST A7). The interval of the
limit is Fieller's for a single new observation. Minutes of a day are correlated, so the interval is rather too narrow
than too wide; use means over at least several minutes.
Source: Draper and Smith, Applied Regression Analysis (1998), §3.2 (inverse regression).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis import confidence
from analysis.arrays import Float
from analysis.errors import Constant, Contradictory
from analysis.input_checks import enough, numbers, positive, same_length, varied
from analysis.least_squares import Fit, fit
from analysis.measured import Measured

_LEAST = 8
"""Minimum observations of rate and load."""
_CURVED = 0.01
"""p-value below which the points follow a curve and not the line."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """A line load = intercept + slope · rate, and its limit."""

    intercept: float
    """Load without requests."""
    slope: float
    """Load per request per second."""
    limit: Measured
    """Rate of full load, requests per second, for one new observation."""
    r2: float
    observations: int
    reach: float
    """Largest observed rate as a share of the limit: the smaller, the more is extrapolated."""
    curved: bool
    """The points are curved: the line does not fit, and the limit is unreliable."""

    def load(self, rate: float) -> float:
        """Load at a rate; a load above 1 cannot be served."""
        return self.intercept + self.slope * rate


def forecast(rate: ArrayLike, load: ArrayLike, full: float = 1.0) -> Capacity:
    """Forecast from request rates, requests per second, and a load 0…1 (utilisation or APU) at the same times.

    Raises InsufficientData below 8 observations, Constant if the rate does not vary or load does not rise with it
    (slope not above 0 at 5 %), NotANumber, BadShape, and Contradictory if the line is full without any request.
    """
    x, y = numbers("request rate", rate, 0), numbers("load", load, 0)
    full = positive("load that is full", full)
    same_length("Request rate and load", x, y)
    enough("observations of rate and load", len(x), _LEAST)
    varied("request rates", x)
    line = fit(x[:, None], y)
    intercept, slope = (float(value) for value in line.coefficients)
    if slope <= 0 or line.t_p[1] > confidence.ERROR:
        raise Constant("Load does not rise with the request rate: something else keeps these machines busy.")
    limit = (full - intercept) / slope
    if limit <= 0:
        raise Contradictory("By the fitted line, the machines are full without any requests.")
    lo, hi = _fieller(line, x, full)
    return Capacity(
        intercept=intercept,
        slope=slope,
        limit=Measured(limit, min(lo, limit), max(hi, limit)),
        r2=line.r2,
        observations=len(x),
        reach=float(x.max() / limit),
        curved=_bends(x, y),
    )


def _fieller(line: Fit, x: Float, full: float) -> tuple[float, float]:
    """Rates at which one new observation may be `full`: the prediction band's crossings."""
    intercept, slope = (float(value) for value in line.coefficients)
    mean, square = float(x.mean()), float(((x - x.mean()) ** 2).sum())
    share = (line.t() * line.sigma) ** 2
    over = slope**2 - share / square
    if over <= 0:
        return 0.0, np.inf
    # With d the distance of the limit from the mean rate: over·d² − 2·slope·gap·d + gap² − share·(1 + 1/n) = 0.
    gap = full - (intercept + slope * mean)
    root = np.sqrt(max((slope * gap) ** 2 - over * (gap**2 - share * (1 + 1 / len(x))), 0.0))
    return max(0.0, mean + (slope * gap - root) / over), mean + (slope * gap + root) / over


def _bends(x: Float, y: Float) -> bool:
    """Whether a quadratic term is significant at these rates."""
    centred = (x - x.mean()) / x.std()
    if len(np.unique(centred)) < 3:
        return False
    curve = fit(np.column_stack([centred, centred**2]), y)
    return bool(curve.sigma > 0 and curve.t_p[2] < _CURVED)
