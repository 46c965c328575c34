"""Estimates with intervals, computed from moments.

A share p has the interval of Korn and Graubard: the exact binomial interval (Clopper–Pearson) for p·(1 − p)/V(p)
independent samples, where V is the variance between visits. V itself is uncertain if few visits contribute to the row,
so the number of samples is reduced by (z/t)², with t at `DEGREES` degrees of freedom per contributing visit. A row with
fewer than `FEW` of them is marked: no narrow interval would be honest, and where most rows are like this, 90 % and not
95 % of intervals contain the truth. A total has the interval of Fay and Feuer, the same method for an unbounded number
(exact Poisson). Rows without observations have an upper bound, too: that of the visits, if each were one sample. So has
a selection without observations: it is treated as a row of everything that the visits observed.
Sources: docs/numbers.md; Korn and Graubard, Survey Methodology 24 (1998); Fay and Feuer, Statistics in
Medicine 16 (1997).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Bool, Float
from analysis.confidence import LEVEL
from analysis.moments import Moments

FEW = 3.0
"""Contributing visits below which a row is marked: most of it comes from one or two machines."""
DEGREES = 4.0
"""Degrees of freedom per contributing visit. Simulated for skewed fleets: with 2, intervals of rare functions are
1.6 times as wide as necessary; with the number of visits, they cover 92 % and not 95 %."""
_ROUNDING = 1e-12
"""Relative size of a variance, a difference of sums of squares, that is only rounding.

Used as a spread, it made a few equal visits look like 10¹⁵ samples."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """R estimates with their intervals."""

    value: Float
    lo: Float
    hi: Float
    low_confidence: Bool
    """Fewer than `FEW` contributing visits."""
    effective: Float
    """Number of independent samples with the same information."""


def shares(moments: Moments, level: float = LEVEL) -> Estimates:
    """Shares y/x, 0…1. Without any observation they are 0 with the interval 0…1."""
    return _shares(_Rows.of([moments]), level)


def shares_of_all(parts: Sequence[Moments], level: float = LEVEL) -> Estimates:
    """`shares` of the rows of all parts, concatenated; each part has its own total."""
    return _shares(_Rows.of(parts), level)


def effective(moments: Moments, level: float = LEVEL) -> Float:
    """Effective independent samples of each row's share, as in `shares`; 0 without any observation."""
    return _effective(_Rows.of([moments]), level)


def share_interval(share: Float, effective: Float | float, level: float = LEVEL) -> tuple[Float, Float]:
    """The exact binomial interval of shares, 0…1, of this many independent samples (> 0)."""
    tail, k = (1 - level) / 2, share * effective
    lo = np.where(share > 0, _beta(k, effective - k + 1, tail), 0.0)
    return lo, np.where(share < 1, _beta(k + 1, effective - k, 1 - tail), 1.0)


def share_at(share: float, effective: float, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a share, 0…1, with this many independent samples: for rows that borrow the number."""
    p, n = np.clip(np.array([share]), 0.0, 1.0), max(effective, 1e-9)
    tail = (1 - level) / 2
    lo = 0.0 if share <= 0 else float(_beta(p * n, n - p * n + 1, tail)[0])
    hi = 1.0 if share >= 1 else float(_beta(p * n + 1, n - p * n, 1 - tail)[0])
    return lo, hi


def totals(moments: Moments, level: float = LEVEL) -> Estimates:
    """Totals y in units of the moments, ≥ 0. A row without observations has the upper bound of its share.

    If the whole selection has no observations, a share of it gives no bound; the visits' other observations do
    (`Moments.unseen`). `hi` is NaN if these are unknown.
    """
    return _totals(_Rows.of([moments]), level)


def totals_of_all(parts: Sequence[Moments], level: float = LEVEL) -> Estimates:
    """`totals` of the rows of all parts, concatenated."""
    return _totals(_Rows.of(parts), level)


def total(moments: Moments, level: float = LEVEL) -> Estimates:
    """The whole selection's total x, as one row."""
    return totals(whole(moments), level)


def whole(moments: Moments) -> Moments:
    """The whole selection as the only row of its moments."""
    one = np.ones(1)
    return Moments(
        y=one * moments.x,
        x=moments.x,
        vyy=one * moments.vxx,
        vxy=one * moments.vxx,
        vxx=moments.vxx,
        second=one * moments.x_second,
        fourth=one * moments.x_second**2 / max(moments.effective_visits, 1e-9),
        x_second=moments.x_second,
        visits=np.full(1, round(moments.ingested), np.int64),
        ingested=moments.ingested,
        df=moments.df,
        unseen=moments.unseen,
    )


def ratios(moments: Moments, level: float = LEVEL) -> Estimates:
    """Ratios y/x of two sums, such as cycles per instruction: ratios of sums, never means of ratios.

    The interval is symmetric on the logarithmic scale. NaN where x is 0.
    """
    rows = len(moments.y)
    if moments.x <= 0:
        nothing = np.full(rows, np.nan)
        return Estimates(nothing, nothing, nothing, np.ones(rows, np.bool_), np.zeros(rows))
    r = moments.y / moments.x
    variance = np.maximum(moments.vyy - 2 * r * moments.vxy + r**2 * moments.vxx, 0.0) / moments.x**2
    seen = r > 0
    relative = np.sqrt(np.divide(variance, r**2, out=np.zeros(rows), where=seen))
    of = _Rows.of([moments])
    factor = np.exp(np.minimum(_quantile(of.degrees, level) * relative, 700.0))
    return Estimates(
        value=r,
        lo=r / factor,
        hi=r * factor,
        low_confidence=of.low_confidence,
        effective=np.divide(1.0, relative**2, out=np.full(rows, np.inf), where=relative > 0),
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """Columns over the rows of several moments; values of a whole selection are repeated for each of its rows."""

    y: Float
    x: Float
    vyy: Float
    vxy: Float
    vxx: Float
    second: Float
    x_second: Float
    contributing: Float
    effective_visits: Float
    most_degrees: Float
    """The design's degrees of freedom."""
    unseen: Float

    @classmethod
    def of(cls, parts: Sequence[Moments]) -> "_Rows":
        sizes = [len(part.y) for part in parts]

        def beside(numbers: Iterable[float]) -> Float:
            return np.repeat(np.fromiter(numbers, np.float64, len(parts)), sizes)

        return cls(
            y=np.concatenate([part.y for part in parts]),
            x=beside(part.x for part in parts),
            vyy=np.concatenate([part.vyy for part in parts]),
            vxy=np.concatenate([part.vxy for part in parts]),
            vxx=beside(part.vxx for part in parts),
            second=np.concatenate([part.second for part in parts]),
            x_second=beside(part.x_second for part in parts),
            contributing=np.concatenate([part.contributing for part in parts]),
            effective_visits=beside(part.effective_visits for part in parts),
            most_degrees=beside(max(min(part.df, part.ingested - 1), 1.0) for part in parts),
            unseen=beside(part.unseen for part in parts),
        )

    @property
    def some(self) -> Float:
        """The divisor x, 1 where x is 0."""
        return np.where(self.x > 0, self.x, 1.0)

    @property
    def degrees(self) -> Float:
        """Degrees of freedom of each row's variance: from its contributing visits, at most the design's."""
        return np.clip(DEGREES * self.contributing, 1.0, self.most_degrees)

    @property
    def low_confidence(self) -> Bool:
        # For three equal visits, rounding makes this slightly more or less than three.
        low_confidence: Bool = self.contributing < FEW * (1 - 1e-9)
        return low_confidence


def _shares(rows: _Rows, level: float) -> Estimates:
    seen = rows.x > 0
    p = np.where(seen, np.clip(rows.y / rows.some, 0.0, 1.0), 0.0)
    n = _effective(rows, level)
    lo, hi = share_interval(p, np.where(seen, n, 1.0), level)
    return Estimates(
        value=p,
        lo=np.where(seen, lo, 0.0),
        hi=np.where(seen, hi, 1.0),
        low_confidence=rows.low_confidence | ~seen,
        effective=n,
    )


def _effective(rows: _Rows, level: float) -> Float:
    x = rows.some
    p = np.clip(rows.y / x, 0.0, 1.0)
    variance = np.maximum(rows.vyy - 2 * p * rows.vxy + p**2 * rows.vxx, 0.0) / x**2
    squares = (rows.second + p**2 * rows.x_second) / x**2
    spread = p * (1 - p)
    # Without spread between visits, or at 0 and 1, the design effect is unknown: a visit counts as one sample.
    known = (variance > _ROUNDING * squares) & (spread > 0)
    n = np.where(known, np.divide(spread, variance, out=np.zeros(len(p)), where=known), rows.effective_visits)
    return np.where(rows.x > 0, np.maximum(n * _shrinkage(rows.degrees, known, level), 1e-9), 0.0)


def _totals(rows: _Rows, level: float) -> Estimates:
    y, variance = rows.y, rows.vyy
    known = (y > 0) & (variance > _ROUNDING * rows.second)
    n = np.where(known, np.divide(y**2, variance, out=np.zeros(len(y)), where=known), rows.effective_visits)
    n = np.maximum(n * _shrinkage(rows.degrees, known, level), 1e-9)
    tail = (1 - level) / 2
    seen = y > 0
    unseen = np.where(rows.x > 0, y, rows.unseen)
    if (~seen & (rows.x > 0)).any():
        unseen = np.where(rows.x > 0, _shares(rows, level).hi * rows.x, unseen)
    return Estimates(
        value=y,
        lo=np.where(seen, y * special.gammaincinv(n, tail) / n, 0.0),
        hi=np.where(seen, y * special.gammaincinv(n + 1, 1 - tail) / n, unseen),
        low_confidence=rows.low_confidence,
        effective=n,
    )


def _quantile(df: Float, level: float) -> Float:
    return np.asarray(special.stdtrit(df, (1 + level) / 2), np.float64)


def _shrinkage(degrees: Float, known: Bool, level: float) -> Float:
    """(z/t)²: the reduction of a sample size for the uncertainty of its variance."""
    z = float(special.ndtri((1 + level) / 2))
    return np.where(known, (z / _quantile(degrees, level)) ** 2, 1.0)


def _beta(a: Float, b: Float, quantile: float) -> Float:
    return np.asarray(special.betaincinv(np.maximum(a, 1e-12), np.maximum(b, 1e-12), quantile), np.float64)
