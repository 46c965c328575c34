"""Whether a share really differs between two selections, or chance among visits explains it.

If nothing differs, a visit's stratum decides what it looks like, not the selection it is in. So the
visits are shuffled within strata (`analysis.shuffle`), and a row's p-value is how often chance alone makes
a difference as large as the one seen. The p-values pass Benjamini and Hochberg's step-up
procedure: of the rows called significant at most 5 % are false on average. The interval of a difference is made of
the two shares' intervals (Zou and Donner). Sources: DESIGN §4; Benjamini and Hochberg, JRSS B 57 (1995);
Zou and Donner, Statistics in Medicine 27 (2008).
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis import estimate, moments
from analysis.arrays import Bool, Float
from analysis.errors import BadShape
from analysis.estimate import Estimates
from analysis.shuffle import p_values, pool
from analysis.visit_table import VisitTable
from analysis.weights import CLASSES, equal

FALSE_DISCOVERIES = 0.05
"""Largest expected share of false rows among the significant ones."""
_WORK = 10_000_000
"""Visits × shuffles of one comparison: about a second."""
_MOST_SHUFFLES = 5_000
_LEAST_SHUFFLES = 1_000


@dataclass(frozen=True, slots=True)
class Power:
    """The chance to find that a row of this share became `factor` times as large, at the present visits."""

    factor: float
    share: float
    power: float


@dataclass(frozen=True, slots=True)
class Diff:
    """R rows compared."""

    a: Estimates
    """Shares in the selection."""
    b: Estimates
    """Shares in its base."""
    delta: Float
    """a − b."""
    lo: Float
    """95 % interval of delta."""
    hi: Float
    p: Float
    """Two-sided p-values; 1 where there is nothing to compare."""
    q: Float
    """The smallest false-discovery rate at which the row is significant."""
    significant: Bool
    few: Bool
    """Too few contributing visits in the selection or its base."""
    power: Power


def compare(a: VisitTable, b: VisitTable, *, seed: int, factor: float = 1.5, share: float = 0.01) -> Diff:
    """Compare all rows of two tables with the same rows; the same seed gives the same answer."""
    if a.rows != b.rows:
        raise BadShape("Two tables are compared row by row: they need the same rows.")
    shares_a, shares_b = (estimate.shares(_moments(table)) for table in (a, b))
    if a.visits and b.visits:
        visits = pool(a, b)
        shuffles = int(np.clip(_WORK // len(visits.x), _LEAST_SHUFFLES, _MOST_SHUFFLES))
        p = p_values(visits, shuffles, np.random.default_rng(seed))
    else:
        p = np.ones(a.rows)
    q = benjamini_hochberg(p)
    delta = shares_a.value - shares_b.value
    below = np.hypot(shares_a.value - shares_a.lo, shares_b.hi - shares_b.value)
    above = np.hypot(shares_a.hi - shares_a.value, shares_b.value - shares_b.lo)
    return Diff(
        a=shares_a,
        b=shares_b,
        delta=delta,
        lo=np.maximum(delta - below, -1.0),
        hi=np.minimum(delta + above, 1.0),
        p=p,
        q=q,
        significant=q <= FALSE_DISCOVERIES,
        few=shares_a.few | shares_b.few,
        power=Power(factor, share, _power(shares_a, shares_b, factor, share)),
    )


def benjamini_hochberg(p: Float) -> Float:
    """The q-value of each p-value: the smallest false-discovery rate at which it is significant; 0…1."""
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p), 0, -1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(np.minimum(p[order] * len(p) / ranks, 1.0))
    return q


def _moments(table: VisitTable) -> moments.Moments:
    """Moments of the visits, which here are all there are: those without a sample have no share."""
    _, stratum = np.unique(table.stratum, return_inverse=True)
    weights = equal(np.bincount(stratum).astype(np.float64))
    return moments.from_visits(
        table.weight,
        stratum.astype(np.int64) * CLASSES,
        weights,
        x=table.x,
        row=table.row,
        visit=table.visit,
        y=table.y,
        rows=table.rows,
    )


def _power(a: Estimates, b: Estimates, factor: float, share: float) -> float:
    """Power of a two-sided test that survives the correction for all rows, by the normal approximation."""
    rows = max(len(a.value), 1)
    changed = share * factor
    samples = [_samples_at(side, size) for side, size in ((a, changed), (b, share))]
    if not all(samples):
        return 0.0
    variance = changed * (1 - changed) / samples[0] + share * (1 - share) / samples[1]
    threshold = float(special.ndtri(1 - FALSE_DISCOVERIES / rows / 2))
    return float(special.ndtr((changed - share) / np.sqrt(variance) - threshold))


def _samples_at(estimates: Estimates, share: float) -> float:
    """Effective samples of a row with this share: the median of the rows nearest to it; 0 when there are none."""
    seen = np.flatnonzero((estimates.value > 0) & (estimates.value < 1) & ~estimates.few)
    if not len(seen):
        return 0.0
    distance = np.abs(np.log(estimates.value[seen] / share))
    return float(np.median(estimates.effective[seen[np.argsort(distance, kind="stable")[:11]]]))
