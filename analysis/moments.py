"""Sums over visits from which estimates and their variances follow.

A visit v of variance stratum g brings y_v units of a row (a function, a label) and x_v units of the whole
selection, and weighs w_v. With z_v = w_v·y_v and the n_g landed visits of the stratum, those without any
sample too, the with-replacement variance of Σz between visits as clusters is

    Σ_g fpc_g · n_g/(n_g − 1) · (Σz² − (Σz)²/n_g)

and likewise the covariance with Σ w·x. A stratum of a single visit has no spread of its own: its z²
stands for it, which is too wide rather than too narrow. The same numbers come from visits one by one
(`from_visits`) and from the sums that merged cells keep (`from_sums`); visits of one cell share their
weight, so its sums are enough. Source: DESIGN §4; Särndal, Swensson, Wretman, §5.5 and §5.6.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape
from analysis.weights import Weights


@dataclass(frozen=True, slots=True)
class Moments:
    """Estimates of R rows and of the whole, with their (co)variances; weights are in.

    Moments of different days (with different visits) add: `a + b`.
    """

    y: Float
    """Estimated units of each row in the fleet; (R,)."""
    x: float
    """Estimated units of the whole selection in the fleet."""
    vyy: Float
    """Variance of y; (R,)."""
    vxy: Float
    """Covariance of y and x; (R,)."""
    vxx: float
    second: Float
    """Σ (w·y)² over visits; (R,)."""
    fourth: Float
    """Σ (w·y)⁴ over visits; (R,)."""
    x_second: float
    """Σ (w·x)² over visits."""
    visits: Int
    """Landed visits with a unit of the row; (R,)."""
    landed: float
    """Landed visits, those without any sample too."""
    df: float
    """Degrees of freedom of the variances: visits less variance strata."""

    @property
    def contributing(self) -> Float:
        """Effective number of visits that contribute to each row, (Σz²)²/Σz⁴: 1 if one visit is all of it; (R,)."""
        return np.divide(self.second**2, self.fourth, out=np.zeros(len(self.y)), where=self.fourth > 0)

    @property
    def effective_visits(self) -> float:
        """Visits as alike as possible that would weigh as these do, (Σwx)²/Σ(wx)² (Kish)."""
        return self.x**2 / self.x_second if self.x_second > 0 else 0.0

    def __add__(self, other: "Moments") -> "Moments":
        if len(self.y) != len(other.y):
            raise BadShape("Moments add when they speak of the same rows.")
        return Moments(
            y=self.y + other.y,
            x=self.x + other.x,
            vyy=self.vyy + other.vyy,
            vxy=self.vxy + other.vxy,
            vxx=self.vxx + other.vxx,
            second=self.second + other.second,
            fourth=self.fourth + other.fourth,
            x_second=self.x_second + other.x_second,
            visits=self.visits + other.visits,
            landed=self.landed + other.landed,
            df=self.df + other.df,
        )

    def of(self, rows: Int) -> "Moments":
        """Those of some of the rows, in this order."""
        return Moments(
            y=self.y[rows],
            x=self.x,
            vyy=self.vyy[rows],
            vxy=self.vxy[rows],
            vxx=self.vxx,
            second=self.second[rows],
            fourth=self.fourth[rows],
            x_second=self.x_second,
            visits=self.visits[rows],
            landed=self.landed,
            df=self.df,
        )

    def scaled(self, factor: float) -> "Moments":
        """In other units: everything of the first degree times `factor` > 0."""
        return Moments(
            y=self.y * factor,
            x=self.x * factor,
            vyy=self.vyy * factor**2,
            vxy=self.vxy * factor**2,
            vxx=self.vxx * factor**2,
            second=self.second * factor**2,
            fourth=self.fourth * factor**4,
            x_second=self.x_second * factor**2,
            visits=self.visits,
            landed=self.landed,
            df=self.df,
        )


def none(rows: int) -> Moments:
    """Moments of no visit at all: what others are added to."""
    zeros = np.zeros(rows)
    return Moments(zeros, 0.0, zeros, zeros, 0.0, zeros, zeros, 0.0, np.zeros(rows, np.int64), 0.0, 0.0)


def from_visits(
    weight: Float, group: Int, weights: Weights, *, x: Float, row: Int, visit: Int, y: Float, rows: int
) -> Moments:
    """Moments from visits one by one.

    `weight`, `group` and `x` have one entry per visit; visits without any sample may be left out, since
    `weights` knows how many there were. `row`, `visit` and `y` have one entry per pair of a row
    (0…rows−1) and a visit (index into `x`) with y > 0, each pair once.
    """
    if not len(weight) == len(group) == len(x) or not len(row) == len(visit) == len(y):
        raise BadShape("Visits need a weight, a group and an x each, pairs a row, a visit and a y each.")
    z, zx = weight[visit] * y, weight * x
    return _moments(
        weights,
        rows,
        group=group[visit],
        row=row,
        z=z,
        zz=z * z,
        zx=z * zx[visit],
        zzzz=z**4,
        visits=(y > 0).astype(np.float64),
        x_group=group,
        x=zx,
        xx=zx * zx,
    )


def from_sums(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    x: Float,
    xx: Float,
    cell: Int,
    row: Int,
    y: Float,
    yy: Float,
    xy: Float,
    yyyy: Float,
    visits: Float,
    rows: int,
) -> Moments:
    """Moments from sums over the visits of cells; all visits of a cell have one weight and one group.

    `weight`, `group`, `x` (Σx) and `xx` (Σx²) have one entry per cell. `row`, `cell` (index into `x`),
    `y` (Σy), `yy` (Σy²), `xy` (Σx·y), `yyyy` (Σy⁴) and `visits` (with y > 0) have one entry per pair of a
    row and a cell, each pair once.
    """
    if not len(weight) == len(group) == len(x) == len(xx):
        raise BadShape("Cells need a weight, a group, Σx and Σx² each.")
    if not len(cell) == len(row) == len(y) == len(yy) == len(xy) == len(yyyy) == len(visits):
        raise BadShape("Pairs of a cell and a row need all their sums.")
    w = weight[cell]
    return _moments(
        weights,
        rows,
        group=group[cell],
        row=row,
        z=w * y,
        zz=w**2 * yy,
        zx=w**2 * xy,
        zzzz=w**4 * yyyy,
        visits=visits,
        x_group=group,
        x=weight * x,
        xx=weight**2 * xx,
    )


def _moments(
    weights: Weights,
    rows: int,
    *,
    group: Int,
    row: Int,
    z: Float,
    zz: Float,
    zx: Float,
    zzzz: Float,
    visits: Float,
    x_group: Int,
    x: Float,
    xx: Float,
) -> Moments:
    """Moments from weighted sums, each belonging to one variance stratum (`group`, `x_group`)."""
    groups = len(weights.visits)
    n, fpc = weights.visits, weights.fpc
    alone = n <= 1
    factor = fpc * np.where(alone, 1.0, n / np.maximum(n - 1, 1))
    # What a stratum's squared sum is multiplied with: 1/n takes its mean out, 0 leaves a single visit's z².
    centre = np.where(alone, 0.0, 1 / np.maximum(n, 1)) * factor
    x_of = sums(x_group, x, groups)
    # Sums over a stratum and row: pairs of one (stratum, row) come from several visits or cells.
    pair = group * np.int64(rows) + row
    distinct, place = np.unique(pair, return_inverse=True)
    z_of = sums(place.astype(np.int64), z, len(distinct))
    pair_group, pair_row = np.divmod(distinct, max(rows, 1))
    by_row = factor[group]
    return Moments(
        y=sums(row, z, rows),
        x=float(x.sum()),
        vyy=_at_least_zero(sums(row, by_row * zz, rows) - sums(pair_row, centre[pair_group] * z_of**2, rows)),
        vxy=sums(row, by_row * zx, rows) - sums(pair_row, centre[pair_group] * z_of * x_of[pair_group], rows),
        vxx=max(0.0, float((factor[x_group] * xx).sum() - (centre * x_of**2).sum())),
        second=sums(row, zz, rows),
        fourth=sums(row, zzzz, rows),
        x_second=float(xx.sum()),
        visits=np.rint(sums(row, visits, rows)).astype(np.int64),
        landed=float(n.sum()),
        df=float(np.where(alone, n, n - 1).sum()),
    )


def _at_least_zero(variance: Float) -> Float:
    """Without the small negative values that rounding leaves of a variance that is zero."""
    return np.maximum(variance, 0.0)
