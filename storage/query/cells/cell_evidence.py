"""Moments and details of rows from merged cells; compare `storage.query.estimation.visit_evidence.Visits`."""

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.moments import Moments
from storage.arrays import Float, Int64, weight_at
from storage.query.answers.figures import Interval
from storage.query.cells.row_moments import ClosedCells, DeltaMoments, OpenCells, Pairs, Sources
from storage.query.cells.seen_machines import about_machines
from storage.query.estimation.estimates import total_of
from storage.query.estimation.sampling_design import Design
from storage.query.estimation.visit_evidence import Details
from storage.query.estimation.visit_totals import Contributions, PerVisit, no_visits
from storage.rollup.long_moments import Parts
from storage.rollup.moments import Sums, machine_bit


@dataclass(frozen=True, slots=True)
class CellRows:
    """The rows of cells: applications with their sums, or functions, whose sums are in the tree."""

    application: Int64
    """Ascending; empty if rows are functions."""
    units: Int64
    weighted: Float


@dataclass(frozen=True, slots=True)
class _OfFunctions:
    """The sums of some functions, and the row of each."""

    sums: Sums
    row: Int64
    parts: Parts
    closed_row: Int64


@dataclass(frozen=True, slots=True)
class Merged:
    """All data of a selection from cells and delta visits."""

    design: Design
    open: OpenCells
    closed: ClosedCells
    whole_open: OpenCells
    """Cells whose x is the whole selection's: the same object, unless rows are applications among others."""
    whole_closed: ClosedCells
    visits: DeltaMoments
    rows: CellRows
    canonical: Int64
    """Canonical function by function id; 0 for one that is not loaded."""
    samples: int
    profiles: int
    visits_seen: int
    """Visits with a sample of the selection."""
    fresh: bool
    """Whether some of it came from chunks."""
    known_machines: Int64
    """From `read_known_machines`."""
    unseen: float = math.nan
    """As `Moments.unseen`."""

    @property
    def whole(self) -> float:
        """Estimated units of the fleet in the whole selection."""
        found = float((self.whole_open.weight * self.whole_open.sums.x).sum())
        found += float((self.visits.weight * self.visits.sign * self.visits.selected).sum())
        return found + float(self.whole_closed.parts.x.sum())

    @property
    def machines(self) -> int | None:
        """Estimated number of machines with a sample of the selection; None if there are too many to count."""
        bits = np.bitwise_or.reduce(self.whole_open.sums.machines, initial=0)
        bits |= np.bitwise_or.reduce(self.whole_closed.parts.machines, initial=0)
        seen = (self.visits.sign > 0) & (self.visits.selected > 0)
        bits |= np.bitwise_or.reduce(machine_bit(self.visits.machine[seen]), initial=0)
        return about_machines(np.array([bits]), [self.visits_seen], self.known_machines)[0]

    @property
    def total(self) -> Interval | None:
        """Estimated units of the fleet in the whole selection, with interval; None if the upper limit is unknown."""
        sums, parts = self.whole_open.sums, self.whole_closed.parts
        seen = np.flatnonzero(self.visits.selected)
        row = np.zeros(max(len(sums), len(parts), len(seen)), np.int64)
        cells, closed = np.arange(len(sums)), np.arange(len(parts))
        found = self._moments_of(
            Pairs(
                cells,
                row[: len(cells)],
                sums.x,
                sums.xx,
                sums.xx,
                sums.xxxx,
                sums.visits.astype(np.float64),
            ),
            PerVisit(row[: len(seen)], seen, self.visits.selected[seen], 1),
            Pairs(
                closed,
                row[: len(closed)],
                parts.x,
                parts.vxx,
                parts.vxx,
                parts.x_fourth,
                self.whole_closed.visits.astype(np.float64),
                parts.x_second,
            ),
            1,
            of_whole=True,
        )
        return total_of(found)

    def _moments_of(
        self, open_: Pairs, delta: PerVisit, closed: Pairs, rows: int, *, of_whole: bool = False
    ) -> Moments:
        """As `Sources.moments`."""
        if self.design.weights is None:
            raise TypeError("cells are only read for random designs")
        sources = Sources(self.design.weights, self.open, self.whole_open, self.whole_closed, self.visits)
        return replace(sources.moments(open_, delta, closed, rows, of_whole=of_whole), unseen=self.unseen)

    def nothing(self) -> Moments:
        """The moments of one row without samples."""
        none = Pairs(*(np.zeros(0, np.int64),) * 2, *(np.zeros(0),) * 5)
        return self._moments_of(none, no_visits(1), none, 1)

    def __len__(self) -> int:
        """The number of delta visits."""
        return len(self.visits)

    @property
    def of_profile(self) -> Int64:
        """The delta visit of each of their profiles."""
        return self.visits.of_profile

    def of_functions(self, functions: Int64, found: PerVisit, *, own: bool) -> Moments:
        """The moments of functions; `found` are their amounts in delta visits."""
        return self._moments(self._sums_of(functions), found, own=own)

    def details(self, contributions: Contributions, functions: Int64 | None) -> Details:
        """Details of functions; `contributions` are their amounts in delta visits. Cells do not count samples."""
        if functions is None:
            raise TypeError("rows of cells must be functions")
        rows = len(functions)
        known = self._sums_of(functions)
        visits = weight_at(known.row, known.sums.row_visits.astype(np.float64), rows)
        visits += weight_at(known.closed_row, known.parts.visits.astype(np.float64), rows)
        total = contributions.total
        visits += weight_at(total.row, self.visits.sign[total.visit].astype(np.float64), rows)
        bits = _ored(known.row, known.sums.row_machines, rows)
        bits |= _ored(known.closed_row, known.parts.row_machines, rows)
        bits |= self._machines_of(total)
        return _details(
            visits,
            bits,
            self.known_machines,
            self._moments(known, contributions.own, own=True),
            self._moments(known, total, own=False),
        )

    def _moments(self, known: "_OfFunctions", found: PerVisit, *, own: bool) -> Moments:
        name = "own" if own else "total"
        sums, parts = known.sums, known.parts
        open_ = Pairs(
            sums.cell,
            known.row,
            getattr(sums, name).astype(np.float64),
            getattr(sums, f"{name}2"),
            getattr(sums, f"{name}_x"),
            getattr(sums, f"{name}4"),
            sums.row_visits.astype(np.float64),
        ).each_once(found.rows)
        closed = Pairs(
            parts.cell,
            known.closed_row,
            getattr(parts, name),
            getattr(parts, f"{name}_vyy"),
            getattr(parts, f"{name}_vxy"),
            getattr(parts, f"{name}_fourth"),
            parts.visits.astype(np.float64),
            getattr(parts, f"{name}_second"),
        ).each_once(found.rows)
        return self._moments_of(open_, found, closed, found.rows)

    def _sums_of(self, functions: Int64) -> "_OfFunctions":
        """The sums in cells of these functions, and of all that have them as canonical function."""
        row_of = np.full(len(self.canonical) + 1, -1, np.int64)
        row_of[functions] = np.arange(len(functions))
        row = row_of[self.canonical]  # by the functions of the cells
        wanted = row >= 0
        sums, parts = self.open.of_functions(wanted), self.closed.of_functions(wanted)
        return _OfFunctions(sums, row[sums.function], parts, row[parts.function])

    def of_applications(self, places: Int64, delta: PerVisit) -> Details:
        """Details of rows that are applications; `delta` are their amounts in delta visits."""
        rows = len(places)
        wanted = np.full(len(self.rows.application) + 1, -1, np.int64)
        wanted[places] = np.arange(rows)

        def row_of(application: Int64) -> Int64:
            return wanted[np.searchsorted(self.rows.application, application)]

        sums, parts = self.open.sums, self.closed.parts
        row, closed_row = row_of(self.open.application), row_of(self.closed.application)
        closed_here = np.flatnonzero(closed_row >= 0)
        alone = self.whole_open is self.open  # the application is the whole selection
        open_ = Pairs.of_applications(sums, row, alone=alone)
        closed = Pairs(
            closed_here,
            closed_row[closed_here],
            parts.x[closed_here],
            parts.vxx[closed_here],
            (parts.vxx if alone else parts.vxe)[closed_here],
            parts.x_fourth[closed_here],
            self.closed.visits[closed_here].astype(np.float64),
            parts.x_second[closed_here],
        )
        visits = weight_at(open_.row, open_.visits, rows) + weight_at(closed.row, closed.visits, rows)
        visits += weight_at(delta.row, self.visits.sign[delta.visit].astype(np.float64), rows)
        bits = _ored(open_.row, sums.machines[open_.cell], rows)
        bits |= _ored(closed.row, parts.machines[closed_here], rows)
        bits |= self._machines_of(delta)
        found = self._moments_of(open_, delta, closed, rows)
        return _details(visits, bits, self.known_machines, found, found)

    def _machines_of(self, delta: PerVisit) -> Int64:
        added = self.visits.sign[delta.visit] > 0
        return _ored(delta.row[added], machine_bit(self.visits.machine[delta.visit[added]]), delta.rows)


def _ored(row: Int64, bits: Int64, rows: int) -> Int64:
    found = np.zeros(rows, np.int64)
    np.bitwise_or.at(found, row, bits)
    return found


def _details(visits: Float, bits: Int64, known_machines: Int64, own: Moments, total: Moments) -> Details:
    unknown = [None] * len(bits)
    seen = np.rint(visits).astype(np.int64).tolist()
    return Details(
        self_samples=unknown,
        total_samples=unknown,
        visits=seen,
        machines=about_machines(bits, seen, known_machines),
        own=own,
        total=total,
    )
