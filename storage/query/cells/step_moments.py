"""The moments of rows by step, from cells that each belong to one step.

Cells have the weights of the whole selection, by stratum, UTC day and class. A step has its own cells and delta visits;
all other visits of its days contribute 0 to it. Scans by visit restrict a selection to a step in the same way.

For the remainder, the part of the whole that is in no row, only the moments of the whole and of the rows are known:
every visit's amount in the remainder is its amount in the whole minus that in the rows. Moments do not show which
visits two rows share, so the remainder's spread and its contributing visits have bounds only. Both err towards wide
intervals. See docs/api.md, "Over time".
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
    """Cells, and the step of each."""

    cells: OpenCells
    step: Int64


@dataclass(frozen=True, slots=True)
class SteppedVisits:
    """Visits that are in no cell, and the step of each."""

    visits: DeltaMoments
    step: Int64


@dataclass(frozen=True, slots=True)
class InSteps:
    """Amounts of rows in cells and delta visits."""

    weights: Weights
    whole: SteppedCells
    rows: SteppedCells
    """The cells of the rows: the same object as `whole`, unless rows are applications among others."""
    pairs: Pairs
    """Sums of rows over these cells."""
    delta: SteppedVisits
    contributions: PerVisit
    """Amounts of rows in the delta visits."""

    def moments(self, count: int) -> list[tuple[Moments, Moments]]:
        """The moments of the whole, as one row, and those of the rows, in each of `count` steps."""
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
    """The moments of the part that is in none of these rows, as one row.

    `whole` is one row too, and a sample is in at most one row. y and vxy are exact. vyy is its largest possible value:
    Σ y of the rows deviates by at most the sum of the rows' deviations. second²/fourth is the least possible number of
    contributing visits, and at least 1. With z of the whole, l of row i and r of the remainder, 0 ≤ r ≤ z for each
    visit, so that Σr⁴ ≤ Σz⁴; ‖r‖ ≥ ‖z‖ - Σᵢ‖lᵢ‖; and Σr² ≥ (Σr)²/n for n visits. `visits` are those of the whole.
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
