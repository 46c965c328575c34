"""Convergence of a profile to the fleet's with its number of samples: C/√N for many samples, 2 for few.

The law M = C/√N (DIGEST G27) holds if all entries have many samples. Most profiles have a long tail of entries with one
sample or none, and two profiles never differ by more than 2, so the law is reached late: drawn from 20 000 functions
whose shares fall as 1/rank^1.2, 9 000 samples have a distance of 0.34 from the truth, where C/√N, fitted to random
parts of them, predicts 0.19. The curve here is the simplest one with both limits,

    M(N) = 2 · (1 + (N/S)^(b/2))^(−1/b),    C = 2·√S,

whose log-log slope goes from 0 to −½ as M falls, the faster the larger b is; for b = ∞ it is min(2, C/√N).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.arrays import Float

FARTHEST: Final = 2.0
"""Manhattan distance of profiles without a common entry."""
_BENDS: Final = (0.3, 20.0)
_USUAL_BEND: Final = 1.2
_BEND_SPREAD: Final = 0.7
"""Prior spread of ln b: profiles of services had 0.6 to 2.5. It decides if there are only two or three points."""
_SCALE_SPREAD: Final = 5.0
"""Prior spread of ln S around the law through the points. It decides if all points are at the maximum distance."""
_SCATTER: Final = 0.03
"""Standard deviation of ln M of a point, which is a mean of sixteen random subsets."""
_MOST_STEPS: Final = 100
_LARGEST: Final = 690.0
"""Largest logarithm that `exp` accepts."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Distance from the fleet as a function of samples."""

    scale: float
    """S, samples; 0: no difference at any number of samples, so the distance is always 0."""
    bend: float
    """b > 0."""

    def distance(self, samples: float) -> float:
        """M, 0…2, of a profile with this many samples > 0."""
        if self.scale <= 0:
            return 0.0
        return float(np.exp(_log_distance(np.log(samples), float(np.log(self.scale)), self.bend)))

    def samples(self, distance: float) -> float:
        """Samples at which the distance has fallen to this value, > 0; 0 from 2 on."""
        if self.scale <= 0 or distance >= FARTHEST:
            return 0.0
        # (2/M)^b − 1 = (N/S)^(b/2), in logarithms: neither side overflows.
        power = self.bend * np.log(FARTHEST / distance)
        rest = power + np.log(-np.expm1(-power))
        return float(np.exp(min(np.log(self.scale) + 2 * rest / self.bend, _LARGEST)))

    def slope(self, samples: float) -> float:
        """D ln M / d ln N at this many samples, −½…0; −½ where the law C/√N holds."""
        if self.scale <= 0:
            return -0.5
        return float(-0.5 * (1 - (self.distance(samples) / FARTHEST) ** self.bend))


def fit(samples: Float, distances: Float) -> Curve:
    """The curve through points of samples > 0 and distances in (0, 2]; scale 0 without a point.

    Least squares on logarithms, with a prior for the bend of most profiles, which decides where points do not.
    """
    if not len(samples):
        return Curve(0.0, _USUAL_BEND)
    from scipy import optimize, special  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    x, y = np.log(samples), np.log(np.minimum(distances, FARTHEST))
    far = float(np.mean(x + 2 * (y - np.log(FARTHEST))))

    def residuals(found: Float) -> Float:
        off = (_log_distance(x, *_within(found)) - y) / _SCATTER
        usual = [(found[0] - far) / _SCALE_SPREAD, (found[1] - np.log(_USUAL_BEND)) / _BEND_SPREAD]
        return np.append(off, usual)

    def slopes(found: Float) -> Float:
        """The residuals' derivatives by both parameters; with numerical ones the curve has only seven exact digits."""
        scale, bend = _within(found)
        u = bend / 2 * (x - scale)
        steep = special.expit(u)
        by_bend = np.logaddexp(0.0, u) / bend - steep * (x - scale) / 2
        inside = _BENDS[0] < bend < _BENDS[1]
        by_scale = np.append(steep / 2 / _SCATTER, [1 / _SCALE_SPREAD, 0.0])
        return np.column_stack((by_scale, np.append(by_bend * inside / _SCATTER, [0.0, 1 / _BEND_SPREAD])))

    place, *_ = optimize.leastsq(
        residuals, [far, np.log(_USUAL_BEND)], Dfun=slopes, maxfev=_MOST_STEPS, full_output=True
    )
    # The sum of squares is flat there to half of its digits. The root of its gradient is exact to all digits, so that
    # the same visits in another order have the same curve.
    last = np.inf
    for _ in range(_MOST_STEPS):
        step = np.linalg.lstsq(slopes(place), residuals(place))[0]
        length = float(np.abs(step).max())
        if not length < last:
            break
        place, last = place - step, length
    scale, bend = _within(place)
    return Curve(float(np.exp(scale)), bend)


def _within(found: Float) -> tuple[float, float]:
    """Ln S and b within bounds."""
    bend = float(np.exp(np.clip(found[1], *np.log(_BENDS))))
    return float(np.clip(found[0], -_LARGEST, _LARGEST)), bend


def _log_distance(x: Float | float, scale: float, bend: float) -> Float:
    """Ln M from ln N and ln S."""
    found: Float = np.log(FARTHEST) - np.logaddexp(0.0, bend / 2 * (np.asarray(x) - scale)) / bend
    return found
