"""The moments of rows step by step, out of cells none of which is of more than one step.

Cells weigh as in the whole selection, by stratum, UTC day and class; a step has those of its cells and loose visits, and all
visits of its days that are not among them brought nothing to it. So visits one by one are narrowed to a step as well.

Of what rows leave of the whole only moments of both are known: every visit brings to the remainder what it brings to the whole less
what it brings to the rows. Which visits two rows have in common moments do not say, so that of the remainder's spread and of the
visits that contribute to it there are bounds, both on the side of wide intervals. Told in docs/api.md, "Over time".
"""

from dataclasses import dataclass, replace

import numpy as np

from analysis.moments import Moments
from analysis.weights import Weights
from storage.arrays import Int64
from storage.query.cells.row_moments import ClosedCells, DeltaMoments, OpenCells, Pairs, Parted, Sources
from storage.query.estimation.visit_totals import PerVisit
from storage.rollup import long_moments
from storage.rollup.long_moments import Parts


@dataclass(frozen=True, slots=True)
class SteppedCells:
    """Cells, and the step that each is of."""

    cells: OpenCells
    step: Int64


@dataclass(frozen=True, slots=True)
class SteppedVisits:
    """Visits that are in no cell, and the step that each is of."""

    visits: DeltaMoments
    step: Int64


@dataclass(frozen=True, slots=True)
class InSteps:
    """What rows have in cells and loose visits."""

    weights: Weights
    whole: SteppedCells
    rows: SteppedCells
    """Those that rows are made of: the same object, unless rows are applications among others."""
    pairs: Pairs
    """Of rows with these."""
    delta: SteppedVisits
    contributions: PerVisit
    """By the loose visits to rows."""

    def moments(self, count: int) -> list[tuple[Moments, Moments]]:
        """Those of the whole, as one row, and those of the rows, in each of so many steps."""
        sources = Sources(self.weights, self.rows.cells, self.whole.cells, _NO_CLOSED, self.delta.visits)
        parts = Parted(count, self.whole.step, self.rows.step, self.delta.step)
        rows = sources.moments_in_parts(self.pairs, self.contributions, self.contributions.rows, parts=parts)
        sums, seen = self.whole.cells.sums, np.flatnonzero(self.delta.visits.selected)
        first = np.zeros(max(len(sums), len(seen)), np.int64)
        pairs = Pairs(
            np.arange(len(sums)),
            first[: len(sums)],
            sums.x,
            sums.xx,
            sums.xx,
            sums.xxxx,
            sums.visits.astype(np.float64),
        )
        contributions = PerVisit(first[: len(seen)], seen, self.delta.visits.selected[seen], 1)
        whole = sources.moments_in_parts(pairs, contributions, 1, parts=parts, of_whole=True)
        return list(zip(whole, rows, strict=True))


def _nothing_closed(_: object) -> Parts:
    return long_moments.NO_PARTS


_NO_CLOSED = ClosedCells(long_moments.NO_PARTS, _nothing_closed, np.zeros(0, np.int64), np.zeros(0, np.int64))


def remainder(whole: Moments, rows: Moments) -> Moments:
    """The moments of what is in none of these rows, as one row; `whole` is one row too, and a sample is in one row at most.

    y and vxy are exact. vyy is the largest that it can be: Σ y of the rows has at most the deviation that the rows' own add up to.
    second²/fourth is the least number of contributing visits that there can be, and at least 1. With z of the whole, l of row
    i and r of the remainder, 0 ≤ r ≤ z for each visit, so that Σr⁴ ≤ Σz⁴; ‖r‖ ≥ ‖z‖ - Σᵢ‖lᵢ‖; and Σr² ≥ (Σr)²/n for n visits.
    `visits` are those of the whole.
    """
    together = np.sqrt(rows.vyy).sum() ** 2
    y = np.maximum(whole.y - rows.y.sum(), 0.0)
    apart = np.maximum(np.sqrt(whole.second) - np.sqrt(rows.second).sum(), 0.0) ** 2
    second = np.maximum(apart, y**2 / np.maximum(whole.visits, 1))
    least = np.divide(second**2, whole.fourth, out=np.zeros(1), where=whole.fourth > 0)
    return replace(
        whole,
        y=y,
        vyy=np.maximum(whole.vyy - 2 * rows.vxy.sum() + together, 0.0),
        vxy=whole.vyy - rows.vxy.sum(),
        second=y**2,
        fourth=y**4 / np.maximum(least, 1.0),
    )
