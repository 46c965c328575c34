"""Labels of a selection's profiles beside their visits, times and weights: the input of first sights and roll-outs."""

from dataclasses import dataclass

import numpy as np

from analysis.estimate import Estimates
from analysis.table_shares import shares
from analysis.visit_table import VisitTable
from storage.arrays import Bool, Float, Int64, sum_at
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_totals import of_pairs
from storage.query.facts.visit_scan import Profiles
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection


@dataclass(frozen=True, slots=True)
class ProfileLabels:
    """Profiles of ingested visits, by their labels."""

    profiles: Profiles
    time: Float
    """Draw time of each visit, in seconds since 1970."""
    weight: Float
    """Fleet units per observed unit, by visit; all 1 without a design."""
    stratum: Int64
    group: Int64
    """By visit, as in `Visits`; -1 if it has no weight."""
    at_random: bool
    """The visits are a random sample, so shares are estimates."""

    @classmethod
    def of(
        cls, reading: Reading, selection: Selection, profiles: Profiles, visits: Visits
    ) -> "ProfileLabels":
        """Those of a selection's profiles, which were read with labels, and of their visits."""
        return cls(
            profiles,
            reading.visit_times(selection).of(visits.id),
            visits.weight,
            visits.stratum,
            visits.group,
            visits.design.weights is not None,
        )

    @classmethod
    def of_samples(cls, reading: Reading, selection: Selection, samples: Samples) -> "ProfileLabels":
        """Those of samples that were read visit by visit."""
        if not isinstance(samples.evidence, Visits):
            raise TypeError("labels by visit need samples by visit")
        return cls.of(reading, selection, samples.profiles, samples.evidence)

    @property
    def visit(self) -> Int64:
        """The visit of each profile."""
        return self.profiles.visit

    @property
    def weighted(self) -> Float:
        """Estimated units of the fleet of each profile."""
        return np.asarray(self.profiles.units * self.weight[self.visit], np.float64)

    def label(self, name: str) -> Int64:
        """The stored ids of a label that was read, by profile."""
        return self.profiles.label(name)

    def shares(self, inside: Bool, row: Int64, rows: int, *, since: float = -np.inf) -> Estimates | None:
        """Shares of rows 0…rows−1 of the profiles `inside`, with intervals; `row` is by profile, -1 for none.

        Only visits drawn at `since` or later count. None without such visits, and without a random design.
        """
        counted = (self.group >= 0) & (self.time >= since)
        kept = np.flatnonzero(inside & counted[self.visit] & (self.profiles.samples > 0))
        if not len(kept) or not self.at_random:
            return None
        visits, visit = np.unique(self.visit[kept], return_inverse=True)
        visit = visit.astype(np.int64)
        units = self.profiles.units[kept]
        found = of_pairs(row[kept], visit, units, rows=rows, visits=len(visits))
        return shares(
            VisitTable(
                key=visits.astype(np.int64),
                stratum=self.stratum[visits],
                weight=self.weight[visits],
                x=sum_at(visit, units, len(visits)).astype(np.float64),
                row=found.row,
                visit=found.visit,
                y=found.units.astype(np.float64),
                rows=rows,
            )
        )
