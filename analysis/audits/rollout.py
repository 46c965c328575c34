"""How fast a roll-out goes: when a release, compiler, kernel or platform reached a share of the work (DIGEST G31).

Shares of successive times are made to rise only (isotonic regression, weighed by what each is known from), and the times at
which this curve reaches 10, 50 and 90 % are read off it; so are the times at which the curves through the intervals' ends
do, which bound them; a level that lies between two times was reached at any time between them, so an interval never ends inside of
such a gap. Nothing is assumed of the roll-out's shape: many stop for a week at 1 %. Of what disappears, the curve is that
of the rest. Source: Robertson, Wright, Dykstra, Order Restricted Statistical Inference (1988), §1.2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis import confidence
from analysis.arrays import Float
from analysis.errors import Constant, Contradictory
from analysis.input_checks import enough, numbers, same_length
from analysis.measured import Measured

LEVELS = (0.1, 0.5, 0.9)
GONE = 0.01
"""Share at which something that disappears is gone."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """When one value of a dimension came, in the unit of the times given."""

    reached: dict[float, Measured]
    """Time at which each level was reached: the first time, from −∞ on, where it was so from the start; until ∞ where it may yet
    not be so. Levels not reached are not in it."""
    share: Measured
    """At the last time."""
    fell_back: bool
    """The share is surely less than it once surely was: it was rolled back, in whole or in part.

    Sure for all times together (Bonferroni): by plain intervals every sixth week of a share that never changed had fallen back.
    """

    @property
    def duration(self) -> float | None:
        """Time from 10 to 90 %; None as long as it has not reached them."""
        if LEVELS[0] in self.reached and LEVELS[-1] in self.reached:
            return self.reached[LEVELS[-1]].value - self.reached[LEVELS[0]].value
        return None


def rollout(
    time: ArrayLike,
    share: ArrayLike,
    lo: ArrayLike,
    hi: ArrayLike,
    levels: tuple[float, ...] = LEVELS,
    *,
    values: int = 1,
) -> Rollout:
    """When a value came, from its shares 0…1 with 95 % intervals at increasing times; (T,) each.

    `values`: how many are asked about at once: what is sure is sure for all of them together.

    Raises InsufficientData below 2 times, Constant where every interval, widened so that all hold together, holds one and the same share, NotANumber, BadShape, and
    Contradictory where times do not increase or a share lies outside of its interval.
    """
    when = numbers("time", time)
    value, low, high = (numbers("share", column, 0, 1) for column in (share, lo, hi))
    for column in (value, low, high):
        same_length("Times and shares", when, column)
    enough("times", len(when), 2)
    if (np.diff(when) <= 0).any():
        raise Contradictory("The times of a roll-out have to increase.")
    if (low > value + 1e-9).any() or (value > high + 1e-9).any():
        raise Contradictory("A share has to lie in its interval.")
    surely_low, surely_high = _together(value, low, high, values)
    if surely_low.max() <= surely_high.min():
        raise Constant("Nothing was rolled out: one and the same share lies in every interval.")
    certainty = 1 / np.maximum(high - low, 1e-6) ** 2
    curve, earliest, latest = (_rising(column, certainty) for column in (value, high, low))
    reached = {}
    for level in levels:
        found = _crossing(when, curve, level)
        if found is not None:
            first, last = _place(earliest, level), _place(latest, level)
            reached[level] = Measured(
                found,
                -np.inf if not first else min(float(when[first - 1]), found),
                np.inf if last is None else max(float(when[last]), found),
            )
    return Rollout(
        reached=reached,
        share=Measured(float(value[-1]), float(low[-1]), float(high[-1])),
        fell_back=bool(surely_high[-1] < surely_low.max()),
    )


def disappearance(
    time: ArrayLike, share: ArrayLike, lo: ArrayLike, hi: ArrayLike, *, values: int = 1
) -> Rollout:
    """When a value went: `reached` at 0.1, 0.5, 0.9 and 0.99 of the work without it (0.99: gone). Raises like `rollout`."""
    rest, rest_lo, rest_hi = (1 - numbers("share", column, 0, 1) for column in (share, hi, lo))
    return rollout(time, rest, rest_lo, rest_hi, (*LEVELS, 1 - GONE), values=values)


def _rising(values: Float, certainty: Float) -> Float:
    from scipy import optimize  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    return np.asarray(optimize.isotonic_regression(values, weights=certainty).x, np.float64)


def _together(value: Float, low: Float, high: Float, values: int) -> tuple[Float, Float]:
    """Ends of 95 % intervals moved out so that those of all times and values hold together in 95 of 100 cases (Bonferroni)."""
    each = 1 - confidence.ERROR / (len(value) * max(values, 1))
    wider = confidence.normal(each) / confidence.normal()
    return np.maximum(value - wider * (value - low), 0.0), np.minimum(value + wider * (high - value), 1.0)


def _place(curve: Float, level: float) -> int | None:
    """The first time at which a rising curve is at a level or above; None: never."""
    above = np.flatnonzero(curve >= level)
    return int(above[0]) if len(above) else None


def _crossing(time: Float, curve: Float, level: float) -> float | None:
    """When a rising curve first reaches a level, between two of its times in proportion."""
    place = _place(curve, level)
    if place is None:
        return None
    if place == 0:
        return float(time[0])
    step = (level - curve[place - 1]) / (curve[place] - curve[place - 1])
    return float(time[place - 1] + step * (time[place] - time[place - 1]))
