"""Moments of rows from merged cells.

Cells have sums over their visits (`storage.rollup.moments`), closed days have weighted sums
(`storage.rollup.long_moments`), and a delta visit is a cell of one visit. Together they give the same moments as all
visits one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis import moments
from analysis.moments import Moments
from analysis.weights import Weights
from storage.arrays import Bool, Float, Int64, weight_at
from storage.query.estimation.visit_totals import PerVisit
from storage.rollup.long_moments import Parts
from storage.rollup.moments import Sums


@dataclass(frozen=True, slots=True)
class OpenCells:
    """Cells of hours and days, and their weights."""

    sums: Sums
    """Without functions."""
    of_functions: Callable[[Bool], Sums]
    """The sums of the wanted functions, by id."""
    weight: Float
    group: Int64
    """Variance stratum; -1 if it has no weight."""
    application: Int64
    """0 in a cube without applications."""


@dataclass(frozen=True, slots=True)
class ClosedCells:
    """Cells of many closed days, with weights applied."""

    parts: Parts
    """Without functions."""
    of_functions: Callable[[Bool], Parts]
    """The parts of the wanted functions, by id."""
    application: Int64
    visits: Int64
    """Visits with a sample in the cell."""


@dataclass(frozen=True, slots=True)
class DeltaMoments:
    """Columns over visits that are in no cell, or in a cell that should not have them."""

    sign: Int64
    weight: Float
    group: Int64
    machine: Int64
    of_profile: Int64
    selected: Int64
    """Units of the whole selection, ≥ 0 whatever the sign."""

    def __len__(self) -> int:
        return len(self.sign)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sums of a row over the visits of a cell; in closed cells `yy` and `xy` are (co)variances."""

    cell: Int64
    row: Int64
    y: Float
    yy: Float
    xy: Float
    yyyy: Float
    visits: Float
    second: Float | None = None

    @classmethod
    def of_applications(cls, sums: Sums, row: Int64, *, alone: bool) -> "Pairs":
        """From cells of one application each; `row` is that of each cell, -1 for none.

        `alone`: the application is the whole selection.
        """
        here = np.flatnonzero(row >= 0)
        return cls(
            here,
            row[here],
            sums.x[here],
            sums.xx[here],
            (sums.xx if alone else sums.xe)[here],
            sums.xxxx[here],
            sums.visits[here].astype(np.float64),
        )

    def each_once(self, rows: int) -> "Pairs":
        """One entry per cell and row, where functions that were named later became one row.

        Cells do not record which visits had both, so squares are added as if all visits had: their upper bound.
        """
        pair, place = np.unique(self.cell * np.int64(max(rows, 1)) + self.row, return_inverse=True)
        if len(pair) == len(self.cell):
            return self
        cell, row = np.divmod(pair, np.int64(max(rows, 1)))

        def summed(values: Float, power: int) -> Float:
            return weight_at(place, values ** (1 / power), len(pair)) ** power

        return Pairs(
            cell,
            row,
            summed(self.y, 1),
            summed(self.yy, 2),
            summed(self.xy, 1),
            summed(self.yyyy, 4),
            summed(self.visits, 1),
            None if self.second is None else summed(self.second, 2),
        )


@dataclass(frozen=True, slots=True)
class Sources:
    """All inputs of a selection's moments."""

    weights: Weights
    """Of all strata and days, including those of closed cells."""
    open: OpenCells
    """The cells of the rows."""
    whole_open: OpenCells
    """Cells whose x is the whole selection's: the same object, unless rows are applications among others."""
    whole_closed: ClosedCells
    visits: DeltaMoments

    def moments(
        self, open_: "Pairs", delta: PerVisit, closed: "Pairs", rows: int, *, of_whole: bool = False
    ) -> Moments:
        """Moments of rows, from their sums over open cells, delta visits and closed cells.

        Open cells and delta visits share their variance strata. `of_whole`: the pairs refer to the cells of the whole,
        not to those of the rows.
        """
        first = (
            np.zeros(len(of), np.int64) for of in (self.whole_open.weight, self.open.weight, self.visits)
        )
        (found,) = self.moments_in_parts(open_, delta, rows, parts=Parted(1, *first), of_whole=of_whole)
        if len(self.whole_closed.parts):
            found += self._closed(closed, rows)
        return found

    def moments_in_parts(
        self, open_: "Pairs", delta: PerVisit, rows: int, *, parts: "Parted", of_whole: bool = False
    ) -> list[Moments]:
        """As `moments`, for each of several parts of the open cells and delta visits, without closed cells."""
        whole, visits = self.whole_open, self.visits
        apart = self.whole_open is not self.open
        sign, x = visits.sign.astype(np.float64), visits.selected.astype(np.float64)
        y = delta.units.astype(np.float64)
        signed = sign[delta.visit]
        nothing = np.zeros(len(self.open.weight) if apart else 0)
        first_loose = len(whole.weight) + len(nothing)
        cells = _Cells(
            weight=np.concatenate((whole.weight, self.open.weight[: len(nothing)], visits.weight)),
            group=np.concatenate((whole.group, self.open.group[: len(nothing)], visits.group)),
            part=np.concatenate((parts.whole, parts.rows[: len(nothing)], parts.visits)),
            x=np.concatenate((whole.sums.x, nothing, sign * x)),
            xx=np.concatenate((whole.sums.xx, nothing, sign * x**2)),
        )
        pairs = Pairs(
            cell=np.concatenate(
                (open_.cell + (len(whole.weight) if apart and not of_whole else 0), first_loose + delta.visit)
            ),
            row=np.concatenate((open_.row, delta.row)),
            y=np.concatenate((open_.y, signed * y)),
            yy=np.concatenate((open_.yy, signed * y**2)),
            xy=np.concatenate((open_.xy, signed * y * x[delta.visit])),
            yyyy=np.concatenate((open_.yyyy, signed * y**4)),
            visits=np.concatenate((open_.visits, signed)),
        )
        return _from_sums(cells, pairs, self.weights, parts.number, rows)

    def _closed(self, pairs: "Pairs", rows: int) -> Moments:
        whole = self.whole_closed
        parts = whole.parts
        second = pairs.second if pairs.second is not None else np.zeros(len(pairs.row))
        return Moments(
            y=weight_at(pairs.row, pairs.y, rows),
            x=float(parts.x.sum()),
            vyy=weight_at(pairs.row, pairs.yy, rows),
            vxy=weight_at(pairs.row, pairs.xy, rows),
            vxx=float(parts.vxx.sum()),
            second=weight_at(pairs.row, second, rows),
            fourth=weight_at(pairs.row, pairs.yyyy, rows),
            x_second=float(parts.x_second.sum()),
            visits=np.rint(weight_at(pairs.row, pairs.visits, rows)).astype(np.int64),
            ingested=0.0,  # included in the weights of the open cells, which are those of all days
            df=0.0,
        )


@dataclass(frozen=True, slots=True)
class Parted:
    """The part, 0…number−1, of each source."""

    number: int
    whole: Int64
    """Of each open cell of the whole."""
    rows: Int64
    """Of each open cell of the rows."""
    visits: Int64
    """Of each delta visit."""


@dataclass(frozen=True, slots=True)
class _Cells:
    weight: Float
    group: Int64
    part: Int64
    x: Float
    xx: Float


def _from_sums(cells: _Cells, pairs: Pairs, weights: Weights, parts: int, rows: int) -> list[Moments]:
    counted = cells.group >= 0
    number = np.cumsum(counted) - 1
    of: Bool = counted[pairs.cell]
    return moments.from_sums_in_parts(
        cells.weight[counted],
        cells.group[counted],
        weights,
        part=cells.part[counted],
        parts=parts,
        x=cells.x[counted],
        xx=cells.xx[counted],
        cell=number[pairs.cell[of]],
        row=pairs.row[of],
        y=pairs.y[of],
        yy=pairs.yy[of],
        xy=pairs.xy[of],
        yyyy=pairs.yyyy[of],
        visits=pairs.visits[of],
        rows=rows,
    )
