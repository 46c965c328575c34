"""The reliability of a selection's profile as a whole, estimated from its visits (DIGEST G25-G27)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.measured import Measured
from analysis.reliability import Convergence, converge, entropy_of, halves, seen_by
from analysis.visit_table import VisitTable
from storage.arrays import Float, Int64, sum_at
from storage.query.answers.figures import Interval
from storage.query.answers.reliability import Fit, FitPoint, ReliabilityAnswer
from storage.query.estimation.sampling_design import Ids
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import counted, visit_table
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.table import all_rows
from storage.query.shapes.totals import totals

MOST_ROWS = 20_000
"""Entries of a profile that are used, the heaviest ones."""
_LEAST_VISITS = 2
_SEED = 1
"""Seed of the random subsets: equal queries have equal results."""


@dataclass(frozen=True, slots=True)
class ReliabilityQuestion:
    """The reliability of the selection's profile by these keys."""

    selection: Selection
    by: tuple[str, ...] = ("function",)

    def answer(self, reading: Reading) -> ReliabilityAnswer:
        """The figures. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        labels, _ = split_keys(self.by)
        samples = reading.visits(self.selection, labels)
        found = seen_profile(reading, samples, self.by)
        table = found.table
        fit = fit_of(found)
        return ReliabilityAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=totals(reading.functions, samples),
            by=self.by,
            rows_total=found.rows_total,
            entropy=None if table is None else _interval(entropy_of(table)),
            manhattan=None if table is None else _interval(halves(table, _SEED)),
            fit=None if fit is None else _fit(fit),
        )


@dataclass(frozen=True, slots=True)
class SeenProfile:
    """The visits with samples of a profile."""

    table: VisitTable | None
    """The profile's heaviest rows by visit; None: too few visits, or not drawn at random."""
    samples: Float
    """Samples of each visit of the table."""
    ids: Ids
    """Id of each visit of the table."""
    rows_total: int


def seen_profile(reading: Reading, samples: Samples, by: Sequence[str]) -> SeenProfile:
    """The profile by self; the samples must have been read visit by visit, with the labels among `by`."""
    visits = samples.evidence
    if not isinstance(visits, Visits):
        raise TypeError("reliability needs the samples by visit")
    rows = all_rows(reading, samples, by)
    of = counted(visits)
    nothing = SeenProfile(None, np.zeros(0), visits.id[:0], len(rows.own))
    if visits.design.weights is None or len(of) < _LEAST_VISITS:
        return nothing
    heaviest = np.argsort(-rows.own_weight, kind="stable")[:MOST_ROWS]
    heaviest = heaviest[rows.own[heaviest] > 0]
    found = rows.contributions(heaviest, totals=False)
    table = visit_table(visits, found.own, _keys(visits.id))
    facts = samples.facts
    taken = sum_at(visits.of_profile[facts.profile], facts.samples, len(visits))[of]
    # With `focus`, a visit of the selection may have no sample in the profile.
    seen = seen_by(table)
    if len(seen) < _LEAST_VISITS:
        return nothing
    return SeenProfile(table.of(seen), taken[seen].astype(np.float64), visits.id[of][seen], len(rows.own))


def fit_of(found: SeenProfile) -> Convergence | None:
    """The convergence of the profile, as in the answer; None: too few visits."""
    return None if found.table is None else converge(found.table, found.samples, _SEED)


def _keys(ids: Ids) -> Int64:
    """A number for each visit that is stable across queries: the XOR of the halves of its id."""
    pairs = np.ascontiguousarray(ids).view(np.int64).reshape(-1, 2)
    return pairs[:, 0] ^ pairs[:, 1]


def _fit(found: Convergence) -> Fit:
    return Fit(
        constant=_interval(found.constant),
        exponent=found.exponent,
        scale=found.curve.scale,
        bend=found.curve.bend,
        samples_per_visit=found.samples_per_visit,
        visits=found.visits,
        points=tuple(map(FitPoint, found.samples.tolist(), found.distance.tolist())),
    )


def _interval(found: Measured) -> Interval:
    return Interval(found.value, found.lo, found.hi)
