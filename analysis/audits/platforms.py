"""The same application on two platforms, counter by counter (DIGEST G24).

Each counter is a ratio of sums, such as misses for each instruction, on either platform; what is compared is the quotient of the two.
That also tests the events: where a counter differs tenfold between two versions of one instruction set, the two hardly count the
same thing, whatever their names.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Bool, Float
from analysis.diff import FALSE_DISCOVERIES, benjamini_hochberg
from analysis.errors import BadShape
from analysis.ratios import Ratios

SUSPECT = 10.0
"""Factor between platforms from which an event is suspected to count something else."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """R counters of one application, second platform over first; (R,) each."""

    factor: Float
    """NaN where either platform has no reading: the counter cannot be compared, and `known` says so."""
    lo: Float
    hi: Float
    p: Float
    """That the two are equal; 1 where it is not known."""
    significant: Bool
    """At most 5 % of the counters so marked are false."""
    suspect: Bool
    """Surely tenfold apart or more."""
    known: Bool


def side_by_side(first: Ratios, second: Ratios) -> SideBySide:
    """The comparison of counters per instruction (or per cycle), the same R on both platforms. Raises BadShape."""
    if len(first.value) != len(second.value):
        raise BadShape("Two platforms are compared by the same counters.")
    known = (first.value > 0) & (second.value > 0)
    factor = np.divide(second.value, first.value, out=np.full(len(known), np.nan), where=known)
    spread = np.hypot(_log_width(first, known), _log_width(second, known))
    log = np.log(np.where(known, factor, 1.0))
    z = np.divide(np.abs(log), spread, out=np.where(log == 0, 0.0, np.inf), where=spread > 0)
    p = np.where(known, 2 * special.ndtr(-z * float(special.ndtri(0.975))), 1.0)
    widening = np.exp(np.minimum(spread, 700.0))
    lo, hi = factor / widening, factor * widening
    few = first.few | second.few
    significant = np.zeros(len(p), np.bool_)
    significant[known] = benjamini_hochberg(p[known]) <= FALSE_DISCOVERIES
    return SideBySide(
        factor=factor,
        lo=lo,
        hi=hi,
        p=p,
        significant=significant & ~few,
        suspect=known & ~few & ((lo >= SUSPECT) | (hi <= 1 / SUSPECT)),
        known=known,
    )


def _log_width(ratios: Ratios, known: Bool) -> Float:
    """Half of the interval on logarithms; ∞ of a single visit."""
    safe = np.where(known, ratios.value, 1.0)
    return np.log(np.where(known, ratios.hi, 1.0) / safe)
