"""The rows of a table before sorting and paging: sums for all rows, details on demand.

A table may have a hundred thousand rows and show a hundred. So names, sample counts and the units of each visit are
computed only for the rows shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from storage.arrays import Float, Int64, sum_at, weight_at
from storage.query.cells.cell_evidence import Merged
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_evidence import Details, Seen
from storage.query.estimation.visit_totals import Contributions
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION


@dataclass(frozen=True, slots=True)
class Grouping:
    """A number 0…n−1 for each profile, and the labels that the numbers stand for, in ascending order."""

    of: Int64
    labels: tuple[dict[str, str], ...]


@dataclass(frozen=True, slots=True)
class Identities:
    """Identities of rows without their names, which may be equal; comparable between selections."""

    labels: tuple[dict[str, str], ...]
    """Labels of each group."""
    group: Int64
    """Group of each row."""
    frame: Int64
    """For each row, a number of its frame keys."""


class Rows(Protocol):
    """All rows of a table, by place; rows without samples are not among them."""

    own: Int64
    """Observed units whose innermost function is the row's."""
    total: Int64
    own_weight: Float
    """Units of the fleet that the observed units stand for."""
    total_weight: Float

    def key(self, place: int) -> dict[str, str]:
        """The row's key."""
        ...

    def function_id(self, place: int) -> int | None:
        """The row's function; None unless rows are functions."""
        ...

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        ...

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:
        """The units of each visit in some rows, in their order.

        Without `totals`, which cost more, the result's totals may be missing.
        """
        ...


class LabelRows:
    """One row for each group: a sample is in one row only, so self equals total."""

    def __init__(self, samples: Samples, grouping: Grouping) -> None:
        self._samples = samples
        self._grouping = grouping
        self._group = grouping.of[samples.facts.profile]
        units = sum_at(self._group, samples.facts.units, len(grouping.labels))
        weights = weight_at(self._group, samples.weighted, len(grouping.labels))
        self._present = np.flatnonzero(units)
        self.own = self.total = units[self._present]
        self.own_weight = self.total_weight = weights[self._present]

    def identities(self) -> "Identities":
        """The identities of the rows."""
        return Identities(self._grouping.labels, self._present, np.zeros(len(self._present), np.int64))

    def groups(self, places: Int64) -> Int64:
        """The groups of some rows."""
        return self._present[places]

    def key(self, place: int) -> dict[str, str]:
        """The group's labels."""
        return self._grouping.labels[int(self._present[place])]

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None."""
        return None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._samples.evidence.details(self.contributions(places), None)

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:  # noqa: ARG002 - self is total
        """The units of each visit in some rows, in their order."""
        groups = len(self._grouping.labels)
        chosen = self._present[places]
        samples = sum_at(self._group, self._samples.facts.samples, groups)[chosen]
        row_of = np.full(groups, -1, np.int64)
        row_of[chosen] = np.arange(len(chosen))
        visits = self._samples.of_groups(row_of[self._grouping.of], rows=len(chosen))
        return Contributions(samples, samples, visits, visits)


class ApplicationRows:
    """One row for each application in the cells."""

    def __init__(self, names: Sequence[str], evidence: Merged, seen: Seen) -> None:
        rows = evidence.rows
        by_name = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        self._present = by_name[rows.units[by_name] > 0]
        self._names = names
        self._evidence = evidence
        self._seen = seen
        self.own = self.total = rows.units[self._present]
        self.own_weight = self.total_weight = rows.weighted[self._present]

    def key(self, place: int) -> dict[str, str]:
        """The application."""
        return {APPLICATION: self._names[int(self._present[place])]}

    def application_ids(self, places: Int64) -> Int64:
        """The stored ids of the applications of some rows."""
        return self._evidence.rows.application[self._present[places]]

    def function_id(self, place: int) -> int | None:  # noqa: ARG002 - the protocol's
        """None."""
        return None

    def details(self, places: Int64) -> Details:
        """Details of some rows, in their order."""
        return self._evidence.of_applications(self._present[places], self.contributions(places).total)

    def contributions(self, places: Int64, *, totals: bool = True) -> Contributions:  # noqa: ARG002 - self is total
        """The units of each visit outside the cells in some rows."""
        chosen = self._present[places]
        row_of = np.full(len(self._names) + 1, -1, np.int64)
        row_of[chosen] = np.arange(len(chosen))
        visits = visit_totals.of_pairs(
            row_of[np.searchsorted(self._evidence.rows.application, self._seen.application)],
            self._seen.visit,
            self._seen.units,
            rows=len(chosen),
            visits=len(self._evidence),
        )
        uncounted = np.zeros(len(chosen), np.int64)
        return Contributions(uncounted, uncounted, visits, visits)
