"""Ratios of sums, such as cycles per instruction, with a separate denominator for each row (DIGEST G28).

A fleet's CPI is the weighted Σ cycles ÷ Σ instructions over all visits, never a mean of CPIs, in which a visit with a
thousand instructions would count as much as one with a billion. The variance is linearised, with visits as clusters.
The residual is e = w·(y − R·x), divided by the other visits' share of the row's x: the change of the ratio without this
visit (the jackknife; without it, intervals of 20 visits with very different load cover 90 and not 94 %). The interval
is symmetric on the logarithmic scale. Its degrees of freedom are those of the visits that contribute to the residuals,
d = (Σe²)²/Σe⁴, as for shares.
Source: docs/numbers.md; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §5.6.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis import moments
from analysis.arrays import Bool, Float, Int, sums
from analysis.confidence import LEVEL
from analysis.errors import BadShape
from analysis.estimate import DEGREES, FEW
from analysis.input_checks import numbers
from analysis.weights import Weights

_ALONE = 1e-12
"""Relative size of the others' part of a row that is only in one visit: rounding."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """R ratios with their intervals."""

    value: Float
    """Σwy ÷ Σwx; NaN if no visit has a unit of x, so the ratio is unknown."""
    lo: Float
    """NaN like `value`; 0 if the row is in a single visit, which gives no bound."""
    hi: Float
    """NaN like `value`; ∞ if the row is in a single visit, or y is 0 in all of them."""
    low_confidence: Bool
    """Fewer than three visits contribute."""
    degrees: Float
    """Degrees of freedom of the variance, ≥ 1: the interval is exp(± t · standard error of the logarithm)."""
    visits: Int
    """Visits with a unit of x."""
    y: Float
    """Σwy, estimated units in the fleet."""
    x: Float


def of_sums(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    row: Int,
    visit: Int,
    y: Float,
    x: Float,
    rows: int,
    level: float = LEVEL,
) -> Ratios:
    """Ratios of R rows from visits.

    `weight` and `group` have one entry per visit, as in `moments.from_visits`; `row`, `visit`, `y` ≥ 0 and `x` ≥ 0 one
    per pair of a row and a visit, each pair once. Pairs with unknown y or x must be left out entirely. Raises
    NotANumber and BadShape.
    """
    if not len(weight) == len(group) or not len(row) == len(visit) == len(y) == len(x):
        raise BadShape("Visits need a weight and a group each, pairs a row, a visit, a y and an x each.")
    if len(row) and (row.max() >= rows or visit.max() >= len(weight)):
        raise BadShape("A pair refers to a row or a visit that does not exist.")
    y, x = numbers("y of a ratio", y, 0), numbers("x of a ratio", x, 0)
    whole_y, whole_x = sums(row, weight[visit] * y, rows), sums(row, weight[visit] * x, rows)
    known = whole_x > 0
    value = np.divide(whole_y, whole_x, out=np.full(rows, np.nan), where=known)
    of_row = np.where(known, value, 0.0)[row]
    others = 1 - _over(weight[visit] * x, whole_x[row])
    residual = np.divide(y - of_row * x, others, out=np.zeros(len(y)), where=others > _ALONE)
    found = moments.from_visits(
        weight, group, weights, x=np.zeros(len(weight)), row=row, visit=visit, y=residual, rows=rows
    )
    visits = np.bincount(row[x > 0], minlength=rows)
    seen = known & (value > 0)
    error = np.sqrt(found.vyy)
    relative = np.divide(error, whole_y, out=np.zeros(rows), where=seen)
    contributing = np.where(found.vyy > 0, found.contributing, visits)
    degrees = np.clip(DEGREES * contributing, 1.0, max(min(found.df, found.ingested - 1), 1.0))
    factor = np.exp(np.minimum(special.stdtrit(degrees, (1 + level) / 2) * relative, 700.0))
    # On logarithms a single visit gives no bound, and an all-zero y no upper bound.
    alone, never = known & (visits < 2), known & (value == 0)
    return Ratios(
        value=value,
        lo=np.where(alone, 0.0, value / factor),
        hi=np.where(alone | never, np.inf, value * factor),
        low_confidence=~known | (contributing < FEW) | (visits < FEW),
        degrees=degrees,
        visits=visits,
        y=whole_y,
        x=whole_x,
    )


def scaled(value: Float, enabled_ns: Float, running_ns: Float) -> Float:
    """Counts extrapolated to the time for which each counter was enabled; NaN for a counter that never ran.

    The kernel multiplexes counters if there are more events than hardware counters. The scaling assumes that the time
    without the counter was like the time with it. That costs accuracy (DIGEST M1), so count few events at a time.
    Raises NotANumber if a counter ran longer than it was enabled.
    """
    value, enabled, running = (
        numbers(what, array, 0)
        for what, array in (("counts", value), ("time enabled", enabled_ns), ("time running", running_ns))
    )
    numbers("share of the time that a counter ran", _over(running, enabled), 0, 1 + 1e-9)
    ran = running > 0
    return np.where(ran, value * _over(enabled, running), np.nan)


def _over(one: Float, other: Float) -> Float:
    return np.asarray(np.divide(one, other, out=np.zeros(np.shape(one)), where=other > 0))
