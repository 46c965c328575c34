"""Sums over visits from which estimates and their variances follow.

A visit v brings y_v units of a row (a function, a label) and x_v units of the whole selection, and weighs
w_v; z_v = w_v·y_v. Of the visits drawn in a variance stratum some landed, and they fall into groups
c by utilisation: q_c is the share of the machine-time that a group stands for, n_c its landed visits, D all
drawn visits of the stratum; Z_c and Z are sums of z over the group and the stratum. That is sampling
in two phases: the draw says how the machine-time divides over the groups, the landed visits say what
happened in each. With visits as clusters, the variance of Z is fpc times

    within groups     Σ_c n_c/(n_c − 1) · (Σz² − Z_c²/n_c)
    between groups    (Σ_c Z_c²/q_c − Z²) / (D − 1)

and likewise the covariance with Σ w·x. Where every drawn visit landed that is the usual
n/(n − 1)·(Σz² − Z²/n) up to terms of order 1/n. A stratum of a single visit has no spread of its own: its z²
stands for it, which is too wide rather than too narrow. The same numbers come from visits one by one
(`from_visits`) and from the sums that merged cells keep (`from_sums`). Sources: docs/numbers.md; Särndal, Swensson,
Wretman, Model Assisted Survey Sampling, §5.6, §9.8 and §15.6.
"""

import math
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape
from analysis.weights import CLASSES, Weights


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
    unseen: float = math.nan
    """Where no visit saw anything of the selection: what all of it can be at most, as far as the visits saw more than
    the selection (`estimate.totals` of a row of that which nobody saw); NaN where they did not."""

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
            unseen=self.unseen + other.unseen,
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
            unseen=self.unseen,
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
            unseen=self.unseen * factor,
        )


def none(rows: int) -> Moments:
    """Moments of no visit at all: what others are added to."""
    zeros = np.zeros(rows)
    return Moments(zeros, 0.0, zeros, zeros, 0.0, zeros, zeros, 0.0, np.zeros(rows, np.int64), 0.0, 0.0)


def from_visits(
    weight: Float, group: Int, weights: Weights, *, x: Float, row: Int, visit: Int, y: Float, rows: int
) -> Moments:
    """Moments from visits one by one.

    `weight`, `group` and `x` have one entry per visit (`group` as in `Weights.group`); visits without any sample may be left out, since
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
    """Moments from weighted sums, each belonging to one group (`group`, `x_group`)."""
    spread = _Spread.of(weights)
    x_of = sums(x_group, x, len(spread.square))
    x_in = x_of.reshape(-1, CLASSES).sum(axis=1)
    (pair_group, pair_row), z_of = _by_pair(group, row, z, rows)
    (pair_stratum, stratum_row), z_in = _by_pair(group // CLASSES, row, z, rows)
    squares = spread.square[group]
    group_z, stratum_z = spread.group[pair_group] * z_of, spread.stratum[pair_stratum] * z_in
    vyy = sums(row, squares * zz, rows) + sums(pair_row, group_z * z_of, rows)
    vxy = sums(row, squares * zx, rows) + sums(pair_row, group_z * x_of[pair_group], rows)
    vxx = spread.square[x_group] @ xx + spread.group @ x_of**2 - spread.stratum @ x_in**2
    return Moments(
        y=sums(row, z, rows),
        x=float(x.sum()),
        # Rounding leaves small negative values of a variance that is zero.
        vyy=np.maximum(vyy - sums(stratum_row, stratum_z * z_in, rows), 0.0),
        vxy=vxy - sums(stratum_row, stratum_z * x_in[pair_stratum], rows),
        vxx=max(0.0, float(vxx)),
        second=sums(row, zz, rows),
        fourth=sums(row, zzzz, rows),
        x_second=float(xx.sum()),
        visits=np.rint(sums(row, visits, rows)).astype(np.int64),
        landed=float(weights.visits.sum()),
        df=spread.df,
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    """The variance as a quadratic form: `square`·Σz² + `group`·Z_c² − `stratum`·Z²."""

    square: Float
    """One for each group, like `group`."""
    group: Float
    stratum: Float
    df: float

    @classmethod
    def of(cls, weights: Weights) -> "_Spread":
        strata = len(weights.fpc)
        shape = (strata, CLASSES)
        n, share = weights.visits.reshape(shape), weights.share.reshape(shape)
        landed = n.sum(axis=1)
        alone = landed <= 1
        fpc = weights.fpc[:, None]
        between = np.where(alone, 0.0, 1 / np.maximum(weights.drawn - 1, 1))
        within = np.where(n > 1, 1 / np.maximum(n - 1, 1), 0.0)
        across = np.divide(between[:, None], share, out=np.zeros(shape), where=share > 0)
        return cls(
            square=(fpc * np.where(n > 1, n * within, 1.0)).ravel(),
            group=(fpc * (across - within)).ravel(),
            stratum=weights.fpc * between,
            df=float(np.where(alone, landed, landed - 1).sum()),
        )


def _by_pair(of: Int, row: Int, z: Float, rows: int) -> tuple[tuple[Int, Int], Float]:
    """The different pairs of a group (stratum) and a row, and the sum of z over each."""
    pair = of * np.int64(max(rows, 1)) + row
    size = int(pair.max(initial=-1)) + 1
    if size <= max(_DENSE * len(pair), _FEW):  # a table of all pairs costs less than sorting those there are
        there = np.flatnonzero(np.bincount(pair, minlength=size))
        sum_of = sums(pair, z, size)[there]
    else:
        there, place = np.unique(pair, return_inverse=True)
        sum_of = sums(place.astype(np.int64), z, len(there))
    first, second = np.divmod(there, np.int64(max(rows, 1)))
    return (first, second), sum_of


_DENSE, _FEW = 8, 1 << 12
"""Places of a table for each pair that there is, and of any table."""
