"""How a profile's distance from the fleet falls with its samples: C/√N where samples are many, 2 where they are few.

The law M = C/√N (DIGEST G27) is that of entries which all have many samples. Most profiles have a long tail of
entries with none or one, and two profiles never differ by more than 2, so the law is reached late: drawn from
20 000 functions whose shares fall as 1/rank^1.2, 9 000 samples lie 0.34 from the truth where C/√N, fitted to random
parts of them, says 0.19. The curve here is the simplest one with both ends,

    M(N) = 2 · (1 + (N/S)^(b/2))^(−1/b),    C = 2·√S,

whose slope on logarithms goes from 0 to −½ as M falls, the faster the larger b is; with b = ∞ it is min(2, C/√N).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.arrays import Float

FARTHEST: Final = 2.0
"""Manhattan distance of profiles that have nothing in common."""
_BENDS: Final = (0.3, 20.0)
_USUAL_BEND: Final = 1.2
_BEND_SPREAD: Final = 0.7
"""On logarithms: profiles of services had 0.6 to 2.5. It decides where there are two points or three."""
_SCALE_SPREAD: Final = 5.0
"""On logarithms, about that of the law through the points. It decides where all of them are as far away as can be."""
_SCATTER: Final = 0.03
"""Of a point on logarithms, a mean of sixteen random subsets."""
_MOST_STEPS: Final = 100
_LARGEST: Final = 690.0
"""Of a logarithm that `exp` can be taken of."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Distance from the fleet by samples."""

    scale: float
    """S, samples; 0: no samples show any difference, the distance is 0 throughout."""
    bend: float
    """b > 0."""

    def distance(self, samples: float) -> float:
        """M, 0…2, of a profile with so many samples > 0."""
        if self.scale <= 0:
            return 0.0
        return float(np.exp(_log_distance(np.log(samples), float(np.log(self.scale)), self.bend)))

    def samples(self, distance: float) -> float:
        """Samples by which the distance is down to this one, > 0; 0 from 2 on."""
        if self.scale <= 0 or distance >= FARTHEST:
            return 0.0
        # (2/M)^b − 1 = (N/S)^(b/2), on logarithms: neither overflows.
        power = self.bend * np.log(FARTHEST / distance)
        rest = power + np.log(-np.expm1(-power))
        return float(np.exp(min(np.log(self.scale) + 2 * rest / self.bend, _LARGEST)))

    def slope(self, samples: float) -> float:
        """D ln M / d ln N at so many samples, −½…0; −½ where the law C/√N holds."""
        if self.scale <= 0:
            return -0.5
        return float(-0.5 * (1 - (self.distance(samples) / FARTHEST) ** self.bend))


def fit(samples: Float, distances: Float) -> Curve:
    """The curve through points of samples > 0 and distances in (0, 2]; scale 0 without a point.

    Least squares on logarithms, with a bend like that of most profiles where points do not tell.
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
        """Of the residuals by both parameters: estimated ones would find the curve to seven digits only."""
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
    # The sum of squares is level to half of its digits there: where its slope is 0 is known to all of them, so that
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
    """Ln S and b."""
    bend = float(np.exp(np.clip(found[1], *np.log(_BENDS))))
    return float(np.clip(found[0], -_LARGEST, _LARGEST)), bend


def _log_distance(x: Float | float, scale: float, bend: float) -> Float:
    """Ln M by ln N and ln S."""
    found: Float = np.log(FARTHEST) - np.logaddexp(0.0, bend / 2 * (np.asarray(x) - scale)) / bend
    return found
