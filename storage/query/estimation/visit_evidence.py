"""Moments of rows for intervals, and their numbers of visits and machines.

They come from the visits themselves (`Visits`), or from sums in merged cells (`storage.query.cells.cell_evidence`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from analysis import moments
from analysis.moments import Moments
from analysis.weights import Weights
from storage.arrays import Float, Int64, sorting, sum_at
from storage.query.estimation import visit_totals
from storage.query.estimation.sampling_design import Design, Ids
from storage.query.estimation.visit_totals import Contributions, PerVisit, no_visits
from storage.query.stacks.stack_tree import Shape

Counts = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Details:
    """Details that only shown rows need, by row; None if unknown."""

    self_samples: Counts
    total_samples: Counts
    visits: Counts
    """Visits with a sample in the row's total."""
    machines: Counts
    own: Moments | None
    """None, as is `total`, if the visits are no random sample."""
    total: Moments | None


class VisitFacts(Protocol):
    """Facts by visit, as far as an answer has them: all, or those that cells do not have."""

    def __len__(self) -> int:
        """The number of facts."""
        ...

    def contributions(
        self,
        shape: Shape,
        own_row: Int64,
        total_row: Int64,
        *,
        rows: int,
        visits: int,
        totals: bool = True,
    ) -> Contributions:
        """The amounts of each visit in rows 0…rows−1; without `totals`, which cost more, those may be missing.

        `own_row` is the row of each node of the tree as the leaf of a stack. `total_row` is its row as a node that
        counts, with all below it, for the row's total; -1 for none. Among nodes of one row in `total_row` none is below
        another.
        """
        ...


class SummedFacts(VisitFacts, Protocol):
    """Facts that are summed over visits by group of profiles and stack."""

    @property
    def profiles(self) -> int:
        """The number of profiles of the facts."""
        ...

    def of_groups(self, row: Int64, *, rows: int, visits: int) -> PerVisit:
        """The amounts of each visit in rows 0…rows−1 of groups; `row` is the row of each group, -1 for none."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """Columns over facts, as `VisitFacts`."""

    visit: Int64
    leaf: Int64
    """Node of the tree."""
    samples: Int64
    units: Int64
    application: Int64
    """Ids; empty if no row needs them."""

    def __len__(self) -> int:
        return len(self.leaf)

    def contributions(
        self,
        shape: Shape,
        own_row: Int64,
        total_row: Int64,
        *,
        rows: int,
        visits: int,
        totals: bool = True,
    ) -> Contributions:
        """As `VisitFacts.contributions`: when facts are sorted by node, those of a row are a few slices."""
        order, below = shape.by_node(self.leaf)
        counts, units, visit = self.samples[order], self.units[order], self.visit[order]
        own_of = own_row[self.leaf[order]]
        own = visit_totals.of_pairs(own_of, visit, units, rows=rows, visits=visits)
        there = own_of >= 0
        own_samples = sum_at(own_of[there], counts[there], rows)
        if not totals:
            return Contributions(own_samples, own_samples, own, own)
        # Includes nodes without units: visits may add and subtract equal amounts there.
        nodes = np.flatnonzero(total_row >= 0)
        of = total_row[nodes]
        nodes = nodes[sorting(of)]
        first = np.concatenate(([0], np.cumsum(np.bincount(of, minlength=rows))))
        starts, ends = below[nodes], below[shape.end[nodes]]
        running = np.concatenate(([0], np.cumsum(counts)))
        in_slices = np.concatenate(([0], np.cumsum(running[ends] - running[starts])))
        return Contributions(
            own_samples,
            in_slices[first[1:]] - in_slices[first[:-1]],
            own,
            visit_totals.of_slices(first, starts, ends, visit, units, visits=visits),
        )


@dataclass(frozen=True, slots=True)
class Visits:
    """Columns over visits with at least one profile in the selection."""

    design: Design
    of_profile: Int64
    """The visit of each profile."""
    id: Ids
    stratum: Int64
    """-1 without a design."""
    machine: Int64
    weight: Float
    """Fleet units per observed unit; all 1 without a design."""
    group: Int64
    """Variance stratum; -1 if it has no weight."""
    selected: Int64
    """Units of all that the labels choose: the denominator of shares."""
    unseen: float = math.nan
    """As `Moments.unseen`."""

    def __len__(self) -> int:
        return len(self.machine)

    @property
    def whole(self) -> float:
        """Estimated units of the fleet in the whole selection."""
        return float((self.weight * self.selected).sum())

    def moments(self, found: PerVisit) -> Moments | None:
        """The moments of rows; None if the visits are no random sample."""
        weights = self.design.weights
        if weights is None:
            return None
        (made,) = self._moments(weights, found, np.zeros(len(self), np.int64), 1)
        return made

    def moments_in_parts(self, found: PerVisit, part: Int64, parts: int) -> list[Moments] | None:
        """As `moments`, for each of `parts` parts; `part` is that of each visit."""
        return None if self.design.weights is None else self._moments(self.design.weights, found, part, parts)

    def _moments(self, weights: Weights, found: PerVisit, part: Int64, parts: int) -> list[Moments]:
        counted = self.group >= 0
        number = np.cumsum(counted) - 1
        pairs = counted[found.visit]
        made = moments.from_visits_in_parts(
            self.weight[counted],
            self.group[counted],
            weights,
            part=part[counted],
            parts=parts,
            x=self.selected[counted].astype(np.float64),
            row=found.row[pairs],
            visit=number[found.visit[pairs]],
            y=found.units[pairs].astype(np.float64),
            rows=found.rows,
        )
        return [replace(of, unseen=self.unseen) for of in made]

    def nothing(self) -> Moments | None:
        """The moments of one row without samples; None as for others."""
        return self.moments(no_visits(1))

    def of_functions(self, functions: Int64, found: PerVisit, *, own: bool) -> Moments | None:  # noqa: ARG002 - as `Merged`
        """The moments of functions, from the amounts of each visit."""
        return self.moments(found)

    def details(self, contributions: Contributions, functions: Int64 | None) -> Details:  # noqa: ARG002 - as `Merged`
        """Details of rows, from the amounts of each visit."""
        return Details(
            self_samples=contributions.self_samples.tolist(),
            total_samples=contributions.total_samples.tolist(),
            visits=contributions.total.visits.tolist(),
            machines=contributions.total.machines(self.machine).tolist(),
            own=self.moments(contributions.own),
            total=self.moments(contributions.total),
        )
