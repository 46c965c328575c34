"""The weights of a selection's visits step by step, on days whose newest visits still wait to be ingested.

`analysis.partly_ingested` computes the weights; this module gives it the store's data. On days that lie in one step,
and on days without waiting visits, visits weigh as in the whole selection.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from analysis.partly_ingested import Drawn, Ingested, PartlyIngested, Piece, weigh_pieces
from storage.arrays import Int64
from storage.query.estimation.covered_time import CoveredTime
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_times import VisitTimes
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.steps import DAY_S, Steps

_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class StepWeights:
    """The visits of a selection with their weights in its steps."""

    visits: Visits
    """The visits with their weights; 0 in unavailable steps."""
    unavailable: frozenset[int] = _NOTHING
    """Steps with too few ingested visits for an estimate."""
    ingested: PartlyIngested | None = None
    """None: visits weigh as in the whole selection."""
    place: Int64 | None = None
    """For each visit, its place in `ingested`; -1: it has none."""

    @property
    def varying(self) -> Iterable[int]:
        """Steps whose visits have another variance structure than the whole selection's."""
        return () if self.ingested is None else self.ingested.varying

    def of(self, step: int) -> Visits:
        """The visits with the variance structure of a step; the caller has to drop the visits outside the step."""
        if self.ingested is None or self.place is None or step not in self.ingested.varying:
            return self.visits
        varying = self.ingested.varying[step]
        group = self.ingested.group.copy()
        group[varying.visits] = varying.group
        return replace(
            self.visits,
            design=replace(self.visits.design, weights=varying.weights),
            group=np.where(self.place >= 0, group[self.place], -1),
        )


def step_weights(
    reading: Reading, selection: Selection, visits: Visits, times: VisitTimes, over: Steps
) -> StepWeights:
    """The weights of a selection's visits in its steps, as of the snapshot."""
    behind, covered = visits.design.behind, times.covered
    if behind is None or covered is None:
        return StepWeights(visits)
    days = _cut(times, covered, over)
    if not len(days):
        return StepWeights(visits)
    strata, watched = behind.strata, behind.watched
    first, last = (datetime.fromtimestamp(day * DAY_S, UTC) for day in (int(days.min()), int(days.max()) + 1))
    drawn = reading.drawn(selection, max(first, selection.start), min(last, selection.end))
    row = strata.row(drawn.stratum, drawn.day)
    here = np.isin(drawn.day, days) & (row >= 0)
    waits = times.waits[np.searchsorted(times.id, drawn.id[here])]
    of_drawn = Drawn(row[here], drawn.utilisation_class[here], over.of(drawn.drawn_at[here]), waits)
    row = strata.row(watched.stratum, watched.day)
    counted = np.flatnonzero(row >= 0)
    ids, seconds = watched.id[counted], watched.seconds[counted]
    of_ingested = Ingested(row[counted], watched.utilisation_class[counted], over.of(times.of(ids)), seconds)
    frame = strata.frame(of_ingested.row, of_ingested.utilisation_class, np.ones(len(ids)), seconds)
    pieces = _pieces(drawn.day[here][waits], of_drawn.step[waits], covered, over)
    found = weigh_pieces(frame, of_drawn, of_ingested, pieces)
    place = np.full(len(visits), -1, np.int64)
    if len(ids):
        at = np.minimum(np.searchsorted(ids, visits.id), len(ids) - 1)
        place = np.where(ids[at] == visits.id, at, -1)
    weight = found.weight
    if behind.gauge:  # a gauge is not summed over the time that it stands for
        estimated_s = visits.design.coverage.estimated_s
        weight = weight * (seconds / estimated_s if estimated_s > 0 else 0.0)
    weighed = replace(
        visits,
        design=replace(visits.design, weights=found.weights),
        weight=np.where(place >= 0, weight[place], 0.0) if len(ids) else np.zeros(len(visits)),
        group=np.where(place >= 0, found.group[place], -1) if len(ids) else place,
    )
    return StepWeights(weighed, found.without_estimate, found, place)


def _cut(times: VisitTimes, covered: CoveredTime, over: Steps) -> Int64:
    """The days (since 1970) with waiting visits that lie in several steps."""
    days = np.unique(times.drawn_at[times.waits] // DAY_S)
    low = np.maximum(days * DAY_S, covered.begin)
    high = np.minimum((days + 1) * DAY_S, covered.until)
    several = over.of(low) < np.ceil((high - over.first_s) / over.step_s) - 1
    return days[several].astype(np.int64)


def _pieces(day: Int64, step: Int64, covered: CoveredTime, over: Steps) -> dict[Piece, float]:
    """The covered seconds of each pair of a day and a step with waiting visits."""
    found = sorted(set(zip(day.tolist(), step.tolist(), strict=True)))
    days, of = np.array(found, np.int64).reshape(-1, 2).T
    low = np.maximum(over.starts[of], days * float(DAY_S))
    high = np.minimum(over.ends[of], (days + 1) * float(DAY_S))
    return dict(zip(found, covered.within(low, high).tolist(), strict=True))
