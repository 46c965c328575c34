"""Speed of a roll-out: when a release, compiler, kernel or platform reached a share of the work (DIGEST G31).

A monotone curve is fitted to the shares over time (isotonic regression, weighted by precision), and the times at which
it reaches 10, 50 and 90 % are read off. The curves through the intervals' ends give bounds of these times. A level
between two times was reached at any time between them, so an interval never ends inside such a gap. No shape of the
roll-out is assumed: many stop for a week at 1 %. For a disappearing value, the curve is that of the rest.
Source: Robertson, Wright, Dykstra, Order Restricted Statistical Inference (1988), §1.2.
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
"""Share below which a disappearing value is gone."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """When one value of a dimension arrived, in the unit of the given times."""

    reached: dict[float, Measured]
    """Time at which each level was reached, without levels that were not reached.

    It is the first time, with a lower end of −∞, if the level was reached from the start; the upper end is ∞ if it may
    not be reached yet."""
    share: Measured
    """At the last time."""
    fell_back: bool
    """The share is significantly lower than it significantly was: it was rolled back, in whole or in part.

    Simultaneous for all times (Bonferroni): with plain intervals, a constant share fell back every sixth week.
    """

    @property
    def duration(self) -> float | None:
        """Time from 10 to 90 %; None unless both are reached."""
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
    """When a value arrived, from its shares 0…1 with 95 % intervals at increasing times; (T,) each.

    `values` is the number of values queried together; significance is simultaneous for all of them.

    Raises InsufficientData below 2 times, Constant if every interval, widened to hold simultaneously, contains one
    common share, NotANumber, BadShape, and Contradictory if times do not increase or a share lies outside its interval.
    """
    when = numbers("time", time)
    value, low, high = (numbers("share", column, 0, 1) for column in (share, lo, hi))
    for column in (value, low, high):
        same_length("Times and shares", when, column)
    enough("times", len(when), 2)
    if (np.diff(when) <= 0).any():
        raise Contradictory("The times of a rollout must increase.")
    if (low > value + 1e-9).any() or (value > high + 1e-9).any():
        raise Contradictory("A share must be inside its interval.")
    surely_low, surely_high = _together(value, low, high, values)
    if surely_low.max() <= surely_high.min():
        raise Constant("Nothing was rolled out: one share fits every interval.")
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
    """When a value left: `reached` at 0.1, 0.5, 0.9 and 0.99 of the work without it (0.99: gone).

    Raises like `rollout`.
    """
    rest, rest_lo, rest_hi = (1 - numbers("share", column, 0, 1) for column in (share, hi, lo))
    return rollout(time, rest, rest_lo, rest_hi, (*LEVELS, 1 - GONE), values=values)


def _rising(values: Float, certainty: Float) -> Float:
    from scipy import optimize  # noqa: PLC0415 - 0.35 s and 16 MB that most processes never use

    return np.asarray(optimize.isotonic_regression(values, weights=certainty).x, np.float64)


def _together(value: Float, low: Float, high: Float, values: int) -> tuple[Float, Float]:
    """Ends of 95 % intervals, widened to hold for all times and values at once in 95 of 100 cases (Bonferroni)."""
    each = 1 - confidence.ERROR / (len(value) * max(values, 1))
    wider = confidence.normal(each) / confidence.normal()
    return np.maximum(value - wider * (value - low), 0.0), np.minimum(value + wider * (high - value), 1.0)


def _place(curve: Float, level: float) -> int | None:
    """Index of the first time at which a rising curve is at or above a level; None: never."""
    above = np.flatnonzero(curve >= level)
    return int(above[0]) if len(above) else None


def _crossing(time: Float, curve: Float, level: float) -> float | None:
    """When a rising curve first reaches a level, interpolated linearly between two times."""
    place = _place(curve, level)
    if place is None:
        return None
    if place == 0:
        return float(time[0])
    step = (level - curve[place - 1]) / (curve[place] - curve[place - 1])
    return float(time[place - 1] + step * (time[place] - time[place - 1]))
