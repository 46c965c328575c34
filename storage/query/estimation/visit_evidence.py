"""What is known of rows besides their sums: moments for intervals, and how many visits and machines.

Two kinds say it: the visits themselves (`Visits`), and sums that merged cells keep
(`storage.query.cells.cell_evidence`).
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
from storage.query.estimation.visit_totals import Contributions, PerVisit, nobody
from storage.query.stacks.stack_tree import Shape

Counts = Sequence[int | None]


@dataclass(frozen=True, slots=True)
class Details:
    """What only shown rows need, by row; None where it is not known."""

    self_samples: Counts
    total_samples: Counts
    visits: Counts
    """With a sample in the row's total."""
    machines: Counts
    own: Moments | None
    """None like `total`: the visits are no random sample."""
    total: Moments | None


class VisitFacts(Protocol):
    """Facts visit by visit, as far as an answer has them: all, or those that cells do not have."""

    def __len__(self) -> int:
        """Facts."""
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
        """What each visit brought to rows 0…rows−1 of a table; without `totals`, which cost more, those may be missing.

        `own_row` is the row of each node of the tree as the innermost of a stack, `total_row` its row as a node that counts, with
        all below it, for the row's total; -1: none. Of nodes of one row in `total_row` none is below another.
        """
        ...


class SummedFacts(VisitFacts, Protocol):
    """Facts that are added up over visits by group of profiles and stack."""

    @property
    def profiles(self) -> int:
        """How many profiles the facts are of."""
        ...

    def of_groups(self, row: Int64, *, rows: int, visits: int) -> PerVisit:
        """What each visit brought to rows 0…rows−1 of groups; `row` is the row of each group, -1: none."""
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
    """Ids; empty where no row asks for them."""

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
        """As `VisitFacts.contributions`: with the facts sorted by node, those of a row are a few slices of them."""
        order, below = shape.by_node(self.leaf)
        counts, units, visit = self.samples[order], self.units[order], self.visit[order]
        own_of = own_row[self.leaf[order]]
        own = visit_totals.of_pairs(own_of, visit, units, rows=rows, visits=visits)
        there = own_of >= 0
        own_samples = sum_at(own_of[there], counts[there], rows)
        if not totals:
            return Contributions(own_samples, own_samples, own, own)
        # Of nodes without units too: visits may add there and take away as much.
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
    """Units of the fleet for each unit observed; all 1 without a design."""
    group: Int64
    """Variance stratum; -1: it weighs nothing."""
    selected: Int64
    """Units of all that the labels choose: what shares are of."""
    unseen: float = math.nan
    """As `Moments.unseen`."""

    def __len__(self) -> int:
        return len(self.machine)

    @property
    def whole(self) -> float:
        """Units of the fleet in the whole selection."""
        return float((self.weight * self.selected).sum())

    def moments(self, found: PerVisit) -> Moments | None:
        """The moments of rows; None: the visits are no random sample."""
        weights = self.design.weights
        if weights is None:
            return None
        (made,) = self._moments(weights, found, np.zeros(len(self), np.int64), 1)
        return made

    def moments_in_parts(self, found: PerVisit, part: Int64, parts: int) -> list[Moments] | None:
        """As `moments`, of each of so many parts; `part` is that of each visit."""
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
        """The moments of one row that nobody saw; None as for others."""
        return self.moments(nobody(1))

    def of_functions(self, functions: Int64, found: PerVisit, *, own: bool) -> Moments | None:  # noqa: ARG002 - as `Merged`
        """The moments of functions, from what each visit brought to them."""
        return self.moments(found)

    def details(self, contributions: Contributions, functions: Int64 | None) -> Details:  # noqa: ARG002 - as `Merged`
        """Details of rows, from what each visit brought to them."""
        return Details(
            self_samples=contributions.self_samples.tolist(),
            total_samples=contributions.total_samples.tolist(),
            visits=contributions.total.visits.tolist(),
            machines=contributions.total.machines(self.machine).tolist(),
            own=self.moments(contributions.own),
            total=self.moments(contributions.total),
        )
