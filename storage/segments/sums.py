"""Sums of a selection's samples by GROUP BY: by stack, and by visit once the answer's rows are known."""

from dataclasses import dataclass

import numpy as np

from storage.arrays import Float, Int64
from storage.query.estimation import visit_totals
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_totals import Contributions, PerVisit
from storage.query.facts.visit_scan import Facts, Profiles, no_profiles
from storage.query.stacks.stack_tree import Shape
from storage.segments.segment_scan import Selected
from storage.segments.session import Columns, Session
from storage.segments.stack_classes import StackClasses

_JOINED = "FROM samples s JOIN wanted w ON s.day = w.day AND s.profile = w.profile"
_BY_STACK = f"""
SELECT w.number, s.stack_id, CAST(sum(s.samples) AS BIGINT) AS samples, CAST(sum(s.samples * w.period) AS BIGINT) AS units,
    sum(s.samples * w.weighted) AS weighted
{_JOINED} GROUP BY w.number, s.stack_id
"""
_BY_CLASS = f"""
SELECT c.class, w.visit, CAST(sum(s.samples) AS BIGINT) AS samples, CAST(sum(s.samples * w.period) AS BIGINT) AS units
{_JOINED} JOIN classes c ON c.stack_id = s.stack_id GROUP BY c.class, w.visit
"""


@dataclass(frozen=True, slots=True)
class ByLabels:
    """The profiles of a selection, grouped by label ids."""

    number: Int64
    """The combination of ids of each profile."""
    profiles: Profiles
    """One profile per combination; only its labels are meaningful."""

    @classmethod
    def of(cls, profiles: Profiles, labels: tuple[str, ...]) -> "ByLabels":
        """Group by these labels, which the profiles were read with."""
        if not labels:
            return cls(np.zeros(len(profiles), np.int64), no_profiles(stacks=bool(profiles.stacks)))
        ids = np.stack([profiles.label(label) for label in labels], axis=1)
        known, first, number = np.unique(ids, axis=0, return_index=True, return_inverse=True)
        one = np.zeros(len(known), np.int64)
        columns = {name: column[first] for name, column in profiles.labels.items()}
        found = Profiles(
            profiles.visits[:0], one, profiles.machine[first], one, one, one, columns, profiles.stacks
        )
        return cls(number.astype(np.int64), found)


def sums_by_stack(
    session: Session, selected: Selected, visits: Visits, groups: ByLabels
) -> tuple[Facts, Float]:
    """Observed samples and units by label combination and stack, ascending, and the estimated units of the fleet."""
    rows = session.rows(_BY_STACK, wanted={**_weighed(selected, visits), "number": groups.number})
    order = np.lexsort((rows.ints("stack_id"), rows.ints("number")))
    number, stack, samples, units = (
        rows.ints(name)[order] for name in ("number", "stack_id", "samples", "units")
    )
    return Facts(number, stack, samples, units), rows.floats("weighted")[order]


def _weighed(selected: Selected, visits: Visits) -> Columns:
    profiles = selected.profiles
    return {
        "day": selected.keys["day"],
        "profile": selected.keys["profile"],
        "visit": profiles.visit.astype(np.int32),
        "period": profiles.period,
        "weighted": profiles.period * visits.weight[profiles.visit],
    }


@dataclass(frozen=True, slots=True)
class FactsInFiles:
    """The facts of a selection, left in the files and aggregated by DuckDB.

    A `storage.query.estimation.visit_evidence.SummedFacts`.
    """

    session: Session
    selected: Selected
    visits: Visits
    groups: ByLabels
    stacks: Int64
    """The stack of each sum."""

    @property
    def profiles(self) -> int:
        """Number of profiles with a fact."""
        return int((self.selected.profiles.facts > 0).sum())

    def of_groups(self, row: Int64, *, rows: int, visits: int) -> PerVisit:
        """Like `VisitFacts.of_groups`, for the label combinations."""
        profiles = self.selected.profiles
        return visit_totals.of_pairs(
            row[self.groups.number], profiles.visit, profiles.units, rows=rows, visits=visits
        )

    def __len__(self) -> int:
        """Number of facts."""
        return int(self.selected.profiles.facts.sum())

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
        """Like `VisitFacts.contributions`; `shape` is that of these stacks."""
        if not totals:
            total_row = np.full(len(shape), -1, np.int64)
        classes = StackClasses.of(shape, own_row, total_row)
        counted = np.flatnonzero(classes.of_stack >= 0)
        found = self.session.rows(
            _BY_CLASS,
            wanted=_weighed(self.selected, self.visits),
            classes={"stack_id": self.stacks[counted], "class": classes.of_stack[counted].astype(np.int32)},
        )
        contributions = classes.contributions(found, rows=rows, visits=visits)
        return (
            contributions
            if totals
            else Contributions(
                contributions.self_samples, contributions.self_samples, contributions.own, contributions.own
            )
        )
