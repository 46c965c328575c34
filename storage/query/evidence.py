"""What is known of rows besides their sums: moments for intervals, and how many visits and machines.

Two kinds say it: the visits themselves (`Visits`), and sums that merged cells keep
(`storage.query.cell_evidence`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from analysis import moments
from analysis.moments import Moments
from storage.query.arrays import Float, Int64
from storage.query.by_visit import ByVisit
from storage.query.design import Design

Counts = Sequence[int | None]
SampleCounts = tuple[Int64, Int64]
"""Samples of each row's self and total."""


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


@dataclass(frozen=True, slots=True)
class Seen:
    """Columns over facts visit by visit, as far as an answer has them: all, or those cells do not have."""

    visit: Int64
    leaf: Int64
    """Node of the tree."""
    samples: Int64
    units: Int64
    application: Int64
    """Ids; empty where no row asks for them."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Columns over visits with at least one profile in the selection."""

    design: Design
    of_profile: Int64
    """The visit of each profile."""
    machine: Int64
    weight: Float
    """Units of the fleet for each unit observed; all 1 without a design."""
    group: Int64
    """Variance stratum; -1: it weighs nothing."""
    selected: Int64
    """Units before `focus` and `ignore`: what shares are of."""

    def __len__(self) -> int:
        return len(self.machine)

    @property
    def whole(self) -> float:
        """Units of the fleet in the whole selection."""
        return float((self.weight * self.selected).sum())

    def moments(self, found: ByVisit) -> Moments | None:
        """The moments of rows; None: the visits are no random sample."""
        weights = self.design.weights
        if weights is None:
            return None
        counted = self.group >= 0
        number = np.cumsum(counted) - 1
        pairs = counted[found.visit]
        return moments.from_visits(
            self.weight[counted],
            self.group[counted],
            weights,
            x=self.selected[counted].astype(np.float64),
            row=found.row[pairs],
            visit=number[found.visit[pairs]],
            y=found.units[pairs].astype(np.float64),
            rows=found.rows,
        )

    def of_functions(self, functions: Int64, found: ByVisit, *, own: bool) -> Moments | None:  # noqa: ARG002 - as `Merged`
        """The moments of functions, from what each visit brought to them."""
        return self.moments(found)

    def details(self, counts: SampleCounts, own: ByVisit, total: ByVisit, functions: Int64 | None) -> Details:  # noqa: ARG002 - likewise
        """Details of rows, from what each visit brought to them."""
        self_samples, total_samples = counts
        return Details(
            self_samples=self_samples.tolist(),
            total_samples=total_samples.tolist(),
            visits=total.visits.tolist(),
            machines=total.machines(self.machine).tolist(),
            own=self.moments(own),
            total=self.moments(total),
        )


def in_order(parts: Sequence[Details], places: Int64) -> Details:
    """The rows of all parts together, row i of them at place `places[i]`; at least one part."""
    if len(parts) == 1 and (np.diff(places) == 1).all():
        return parts[0]
    back = np.argsort(places)

    def counts(name: str) -> Counts:
        joined = [count for part in parts for count in getattr(part, name)]
        return [joined[i] for i in back.tolist()]

    return Details(
        counts("self_samples"),
        counts("total_samples"),
        counts("visits"),
        counts("machines"),
        _joined([part.own for part in parts], back),
        _joined([part.total for part in parts], back),
    )


def _joined(parts: Sequence[Moments | None], order: Int64) -> Moments | None:
    """Moments of different rows of one selection as one, in this order."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in found])
        for field in fields(Moments)
        if isinstance(getattr(found[0], field.name), np.ndarray)
    }
    return replace(found[0], **columns).of(order)
