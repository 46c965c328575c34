"""Sums over visits from which estimates and their variances are computed.

A visit v has y_v units of a row (a function, a label), x_v units of the whole selection and weight w_v; z_v = w_v·y_v.
Some of the visits drawn in a variance stratum are ingested, and they fall into groups c by utilisation: q_c is the
share of the machine-time that a group represents, n_c its ingested visits, D all drawn visits of the stratum; Z_c and Z
are sums of z over the group and the stratum. That is two-phase sampling: the draw determines how the machine-time
divides into groups, and the ingested visits show the content of each. With visits as clusters, the variance of Z is fpc
times

    within groups     Σ_c n_c/(n_c − 1) · (Σz² − Z_c²/n_c)
    between groups    (Σ_c Z_c²/q_c − Z²) / (D − 1)

and likewise the covariance with Σ w·x. If every drawn visit is ingested, that is the usual n/(n − 1)·(Σz² − Z²/n) up to
terms of order 1/n. For a stratum with a single visit z² is used as its spread, which is rather too wide than too
narrow. The same numbers are computed from single visits (`from_visits`) and from the sums in merged cells
(`from_sums`).
Sources: docs/numbers.md; Särndal, Swensson, Wretman, Model Assisted Survey Sampling, §5.6, §9.8 and §15.6.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.arrays import Float, Int, sums
from analysis.errors import BadShape
from analysis.variance_form import SumsByKey, VarianceForm, sums_by_pair
from analysis.weights import CLASSES, Weights


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted estimates of R rows and of the whole, with their (co)variances.

    Moments of different days (with different visits) can be added: `a + b`.
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
    """Ingested visits with a unit of the row; (R,)."""
    ingested: float
    """Ingested visits, including those without samples."""
    df: float
    """Degrees of freedom of the variances: visits minus variance strata."""
    unseen: float = math.nan
    """Upper bound of a selection without observations, from the visits' other observations.

    See `estimate.totals` of a row without observations; NaN if the visits have no others."""

    @property
    def contributing(self) -> Float:
        """Effective number of visits that contribute to each row, (Σz²)²/Σz⁴: 1 if one visit is all of it; (R,)."""
        return np.divide(self.second**2, self.fourth, out=np.zeros(len(self.y)), where=self.fourth > 0)

    @property
    def effective_visits(self) -> float:
        """Effective number of visits by their weighted size, (Σwx)²/Σ(wx)² (Kish)."""
        return self.x**2 / self.x_second if self.x_second > 0 else 0.0

    def __add__(self, other: "Moments") -> "Moments":
        if len(self.y) != len(other.y):
            raise BadShape("Moments can only be added for the same rows.")
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
            ingested=self.ingested + other.ingested,
            df=self.df + other.df,
            unseen=self.unseen + other.unseen,
        )

    def of(self, rows: Int) -> "Moments":
        """The moments of these rows, in this order."""
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
            ingested=self.ingested,
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
            ingested=self.ingested,
            df=self.df,
            unseen=self.unseen * factor,
        )


def none(rows: int) -> Moments:
    """Moments without any visit, the neutral element of addition."""
    zeros = np.zeros(rows)
    return Moments(zeros, 0.0, zeros, zeros, 0.0, zeros, zeros, 0.0, np.zeros(rows, np.int64), 0.0, 0.0)


def from_visits(
    weight: Float, group: Int, weights: Weights, *, x: Float, row: Int, visit: Int, y: Float, rows: int
) -> Moments:
    """Moments from single visits.

    `weight`, `group` and `x` have one entry per visit (`group` as in `Weights.group`); visits without samples may be
    left out, since `weights` has the number of visits. `row`, `visit` and `y` have one entry per pair of a row
    (0…rows−1) and a visit (index into `x`) with y > 0, each pair once.
    """
    part = np.zeros(len(x), np.int64)
    (found,) = from_visits_in_parts(
        weight, group, weights, part=part, parts=1, x=x, row=row, visit=visit, y=y, rows=rows
    )
    return found


def from_visits_in_parts(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    part: Int,
    parts: int,
    x: Float,
    row: Int,
    visit: Int,
    y: Float,
    rows: int,
) -> list[Moments]:
    """Like `from_visits`, for disjoint parts of the visits: `part` has the part of each, 0…parts−1.

    The moments of a part are those of all visits with x and y set to 0 in every other part; all parts together cost
    hardly more than one.
    """
    if not len(weight) == len(group) == len(part) == len(x) or not len(row) == len(visit) == len(y):
        raise BadShape("Visits need a weight, a group and an x each, pairs a row, a visit and a y each.")
    z, zx = weight[visit] * y, weight * x
    return _moments(
        weights,
        _Shape(parts, rows),
        group=group[visit],
        row=part[visit] * rows + row,
        z=z,
        zz=z * z,
        zx=z * zx[visit],
        zzzz=z**4,
        visits=(y > 0).astype(np.float64),
        x_group=group,
        x_part=part,
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

    `weight`, `group`, `x` (Σx) and `xx` (Σx²) have one entry per cell. `row`, `cell` (index into `x`), `y` (Σy), `yy`
    (Σy²), `xy` (Σx·y), `yyyy` (Σy⁴) and `visits` (with y > 0) have one entry per pair of a row and a cell, each pair
    once.
    """
    (found,) = from_sums_in_parts(
        weight,
        group,
        weights,
        part=np.zeros(len(x), np.int64),
        parts=1,
        x=x,
        xx=xx,
        cell=cell,
        row=row,
        y=y,
        yy=yy,
        xy=xy,
        yyyy=yyyy,
        visits=visits,
        rows=rows,
    )
    return found


def from_sums_in_parts(
    weight: Float,
    group: Int,
    weights: Weights,
    *,
    part: Int,
    parts: int,
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
) -> list[Moments]:
    """Like `from_sums`, for disjoint parts of the cells; see `from_visits_in_parts`."""
    if not len(weight) == len(group) == len(part) == len(x) == len(xx):
        raise BadShape("Cells need a weight, a group, Σx and Σx² each.")
    if not len(cell) == len(row) == len(y) == len(yy) == len(xy) == len(yyyy) == len(visits):
        raise BadShape("Pairs of a cell and a row need all their sums.")
    w = weight[cell]
    return _moments(
        weights,
        _Shape(parts, rows),
        group=group[cell],
        row=part[cell] * rows + row,
        z=w * y,
        zz=w**2 * yy,
        zx=w**2 * xy,
        zzzz=w**4 * yyyy,
        visits=visits,
        x_group=group,
        x_part=part,
        x=weight * x,
        xx=weight**2 * xx,
    )


class _Shape(NamedTuple):
    parts: int
    rows: int
    """Rows of each part."""


def _moments(
    weights: Weights,
    shape: _Shape,
    *,
    group: Int,
    row: Int,
    z: Float,
    zz: Float,
    zx: Float,
    zzzz: Float,
    visits: Float,
    x_group: Int,
    x_part: Int,
    x: Float,
    xx: Float,
) -> list[Moments]:
    """Moments from weighted sums, each of one group and part (`group`, `x_group`, `x_part`).

    `row` is numbered consecutively over the parts.
    """
    parts, rows = shape
    size = parts * rows
    spread = VarianceForm.of(weights)
    groups, strata = len(spread.square), len(spread.stratum)
    part = row // max(rows, 1)
    x_of = SumsByKey.of(x_part * np.int64(groups) + x_group, x)
    x_in = SumsByKey.of(x_part * np.int64(strata) + x_group // CLASSES, x)
    (pair, pair_row), z_of = sums_by_pair(part * groups + group, row % max(rows, 1), z, rows)
    (pair_in, row_in), z_in = sums_by_pair(part * strata + group // CLASSES, row % max(rows, 1), z, rows)
    pair_row += pair // max(groups, 1) * rows
    row_in += pair_in // max(strata, 1) * rows
    squares = spread.square[group]
    group_z = spread.group[pair % max(groups, 1)] * z_of
    stratum_z = spread.stratum[pair_in % max(strata, 1)] * z_in
    vyy = sums(row, squares * zz, size) + sums(pair_row, group_z * z_of, size)
    vxy = sums(row, squares * zx, size) + sums(pair_row, group_z * x_of.at(pair), size)
    vxx = (
        sums(x_part, spread.square[x_group] * xx, parts)
        + sums(x_of.key // max(groups, 1), spread.group[x_of.key % max(groups, 1)] * x_of.sum**2, parts)
        - sums(x_in.key // max(strata, 1), spread.stratum[x_in.key % max(strata, 1)] * x_in.sum**2, parts)
    )
    by_row = (
        sums(row, z, size),
        # Rounding can make a zero variance slightly negative.
        np.maximum(vyy - sums(row_in, stratum_z * z_in, size), 0.0),
        vxy - sums(row_in, stratum_z * x_in.at(pair_in), size),
        sums(row, zz, size),
        sums(row, zzzz, size),
        np.rint(sums(row, visits, size)).astype(np.int64),
    )
    by_part = (sums(x_part, x, parts), np.maximum(vxx, 0.0), sums(x_part, xx, parts))
    ingested = float(weights.visits.sum())
    return [
        Moments(y, x_sum, vyy, vxy, vxx_of, second, fourth, x_second, count, ingested, spread.df)
        for y, vyy, vxy, second, fourth, count, x_sum, vxx_of, x_second in zip(
            *(column.reshape(parts, rows) for column in by_row),
            *(column.tolist() for column in by_part),
            strict=True,
        )
    ]
