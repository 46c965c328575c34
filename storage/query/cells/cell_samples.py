"""The samples of a selection from merged cells, as exact and fresh as from the visits' chunks."""

from dataclasses import dataclass, replace

import numpy as np

from storage.arrays import Float, Int64, distinct, sum_at, weight_at
from storage.query.cells.cell_evidence import CellRows, Merged
from storage.query.cells.rollup_scan import Delta, RollupScan, closed_of
from storage.query.cells.row_moments import OpenCells
from storage.rollup import read_cells
from storage.rollup.cell_rows import ANSWER_BYTES
from storage.rollup.cubes import APPLICATION, Source
from storage.rollup.read_cells import Cells, Functions, WeightedCells
from storage.rollup.time_cover import Cover


@dataclass(frozen=True, slots=True)
class CellSamples:
    """Sums by stack, and the scan they come from."""

    stack: Int64
    """Ascending, each once."""
    units: Int64
    weighted: Float
    """Estimated units of the fleet."""
    delta: Int64
    """For each fact of the delta visits the index of its stack."""
    of: RollupScan

    def evidence(self, canonical: Int64) -> Merged:
        """Moments and details; `canonical` has the canonical function by function id."""
        if not self.of.plan.by_application:
            return self.of.evidence(canonical)
        return by_application(self.of, canonical)


def samples_of(scanned: RollupScan) -> CellSamples:
    """The sums by stack of a scan with stacks."""
    return CellSamples(*_by_stack(scanned.cells, scanned.open, scanned.closed, scanned.delta), scanned)


def by_application(of: RollupScan, canonical: Int64) -> Merged:
    """The evidence of rows that are applications; `canonical` has the canonical function by function id."""
    if of.plan.cube is APPLICATION:
        rows = _applications(of.cells, of.open, of.closed, of.delta)
        return of.evidence(canonical, rows, of.open, of.closed_cells)
    of_each = replace(of.source, cube=APPLICATION)
    covered = of.covered.in_buckets(of.closed_in.of(of_each).intersection(of.closed_in.of(of.source)))
    more, more_closed = _heads(of, of_each, covered)
    row_cells, row_closed = of.weighing.open(more), closed_of(more_closed)
    whole = None
    if covered != of.covered:
        # Covariances need cells of the same time.
        cells, closed = _heads(of, of.source, covered)
        whole = of.weighing.open(cells), closed_of(closed)
    rows = _applications(more, row_cells, more_closed, of.delta)
    return of.evidence(canonical, rows, row_cells, row_closed, whole)


def _heads(of: RollupScan, source: Source, covered: Cover) -> tuple[Cells, WeightedCells]:
    """Cells without stacks and functions."""
    only = Functions.NONE
    cells = read_cells.read_cells(
        of.connection, source, covered, facts=False, functions=only, limit=ANSWER_BYTES
    )
    closed = read_cells.read_weighted(
        of.connection, source, covered, facts=False, functions=only, limit=ANSWER_BYTES
    )
    return cells, closed


def _by_stack(
    cells: Cells, open_: OpenCells, closed: WeightedCells, delta: Delta
) -> tuple[Int64, Int64, Float, Int64]:
    """Stacks, observed units and fleet units by stack, and the stack index of each delta fact."""
    facts = delta.facts
    own = facts.units * delta.sign[facts.profile]
    stack, place = distinct(np.concatenate((cells.stack, closed.stack, facts.stack)))
    units = np.concatenate((cells.units, closed.units, own))
    observed = sum_at(place, np.maximum(units, 0), len(stack))
    if len(own) and int(own.min()) < 0:
        observed -= sum_at(place, np.maximum(-units, 0), len(stack))
    weights = (cells.units * open_.weight[cells.cell], closed.weighted, own * delta.of_visit[facts.profile])
    weighted = weight_at(place, np.concatenate(weights), len(stack))
    # A stack that is subtracted completely stays, without units: its functions are still in the cells' moments.
    of_loose = place[len(place) - len(own) :]
    return stack, observed, np.where(observed > 0, np.maximum(weighted, 0.0), 0.0), of_loose


def _applications(cells: Cells, open_: OpenCells, closed: WeightedCells, delta: Delta) -> CellRows:
    """Observed units and fleet units by application."""
    facts = delta.facts
    own = facts.samples * facts.period * delta.sign
    of, place = np.unique(np.concatenate((cells.k1, closed.k1, facts.application)), return_inverse=True)
    units = np.zeros(len(of), np.int64)
    np.add.at(units, place, np.concatenate((cells.total, closed.total, own)))
    weights = (cells.total * open_.weight, closed.weighted_total, own * delta.of_visit)
    weighted = weight_at(place, np.concatenate(weights), len(of))
    return CellRows(of.astype(np.int64), units, np.maximum(weighted, 0.0))
