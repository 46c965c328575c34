"""Compares an application on two platforms, counter by counter (DIGEST G24).

Each counter is a ratio of sums, such as misses per instruction, on either platform; the quotient of the two is
compared. That also tests the events: if a counter differs tenfold between two implementations of one instruction set,
the two probably count different things, whatever their names.

One test of the quotient's logarithm (t, with Welch's and Satterthwaite's degrees of freedom) gives verdict and
interval.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis import confidence
from analysis.arrays import Bool, Float
from analysis.errors import BadShape
from analysis.false_discovery import benjamini_hochberg, error_rate
from analysis.ratios import Ratios

SUSPECT = 10.0
"""Factor between platforms from which an event is suspected to count something else."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """R counters of one application, second platform over first; (R,) each."""

    factor: Float
    """NaN if either platform has no reading: the counter cannot be compared, and `known` is False."""
    lo: Float
    """Lower end of the factor's interval at `level`; NaN like `factor`."""
    hi: Float
    level: float
    """Level of all intervals, 0.95…1: the fewer counters differ, the higher (`analysis.false_discovery`)."""
    p: Float
    """p-value of equality; 1 if unknown."""
    significant: Bool
    """The interval excludes 1. At most 5 % of the marked counters are false."""
    low_confidence: Bool
    """Fewer than three visits of a platform contribute; the degrees of freedom of `p` and the interval allow for it."""
    suspect: Bool
    """Significantly tenfold or more apart."""
    known: Bool


def side_by_side(first: Ratios, second: Ratios) -> SideBySide:
    """The comparison of counters per instruction (or per cycle), the same R on both platforms. Raises BadShape."""
    if len(first.value) != len(second.value):
        raise BadShape("Two platforms are compared by the same counters.")
    known = (first.value > 0) & (second.value > 0)
    factor = np.divide(second.value, first.value, out=np.full(len(known), np.nan), where=known)
    variances = [_log_error(ratios, known) ** 2 for ratios in (first, second)]
    error = np.sqrt(variances[0] + variances[1])
    degrees = _degrees(variances, (first.degrees, second.degrees))
    log = np.log(np.where(known, factor, 1.0))
    t = np.divide(np.abs(log), error, out=np.where(log == 0, 0.0, np.inf), where=error > 0)
    p = np.where(known, 2 * special.stdtr(degrees, -t), 1.0)
    wrong = error_rate(benjamini_hochberg(p[known]))
    widening = np.exp(np.minimum(special.stdtrit(degrees, 1 - wrong / 2) * error, 700.0))
    lo, hi = factor / widening, factor * widening
    return SideBySide(
        factor=factor,
        lo=lo,
        hi=hi,
        level=1 - wrong,
        p=p,
        significant=known & ((lo > 1) | (hi < 1)),
        low_confidence=known & (first.low_confidence | second.low_confidence),
        suspect=known & ((lo >= SUSPECT) | (hi <= 1 / SUSPECT)),
        known=known,
    )


def _log_error(ratios: Ratios, known: Bool) -> Float:
    """Standard error of the logarithm, from the interval; ∞ for a single visit."""
    safe = np.where(known, ratios.value, 1.0)
    width = np.log(np.where(known, ratios.hi, 1.0) / safe)
    return np.asarray(width / special.stdtrit(ratios.degrees, confidence.tails()[1]), np.float64)


def _degrees(variances: list[Float], degrees: tuple[Float, Float]) -> Float:
    """Degrees of freedom of a difference's variance (Welch, Satterthwaite), ≥ 1; 1 if a variance is unknown."""
    whole = variances[0] + variances[1]
    known = (whole > 0) & np.isfinite(whole)
    parts = [np.where(known, v, 1.0) / np.where(known, whole, 1.0) for v in variances]
    sum_of_squares = parts[0] ** 2 / degrees[0] + parts[1] ** 2 / degrees[1]
    return np.where(known, 1 / sum_of_squares, 1.0)
