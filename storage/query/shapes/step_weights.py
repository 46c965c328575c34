"""What a selection's visits stand for step by step, within days whose newest visits still wait to be ingested.

`analysis.partly_ingested` says how; here is what of the store it is told. Days that lie in one step, and those of which nothing waits,
weigh as in the whole selection.
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
    """The visits of a selection as they weigh in its steps."""

    visits: Visits
    """With their weights; in a step of which nothing is said 0."""
    unavailable: frozenset[int] = _NOTHING
    """Steps of which too little has been ingested for a number."""
    ingested: PartlyIngested | None = None
    """None: visits weigh as in the whole selection."""
    place: Int64 | None = None
    """Of each visit, where it is in `ingested`; -1: nowhere."""

    @property
    def varying(self) -> Iterable[int]:
        """Steps whose visits vary in another way than the whole selection's."""
        return () if self.ingested is None else self.ingested.varying

    def of(self, step: int) -> Visits:
        """The visits with how those of a step vary; the others are to be left out."""
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
    """The weights of a selection's visits in its steps, by the snapshot."""
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
    if behind.gauge:  # a level is not accumulated over the time it stands for
        weighed_s = visits.design.coverage.weighed_s
        weight = weight * (seconds / weighed_s if weighed_s > 0 else 0.0)
    weighed = replace(
        visits,
        design=replace(visits.design, weights=found.weights),
        weight=np.where(place >= 0, weight[place], 0.0) if len(ids) else np.zeros(len(visits)),
        group=np.where(place >= 0, found.group[place], -1) if len(ids) else place,
    )
    return StepWeights(weighed, found.unsaid, found, place)


def _cut(times: VisitTimes, covered: CoveredTime, over: Steps) -> Int64:
    """The days since 1970 in which visits wait and that lie in several steps."""
    days = np.unique(times.drawn_at[times.waits] // DAY_S)
    low = np.maximum(days * DAY_S, covered.begin)
    high = np.minimum((days + 1) * DAY_S, covered.until)
    several = over.of(low) < np.ceil((high - over.first_s) / over.step_s) - 1
    return days[several].astype(np.int64)


def _pieces(day: Int64, step: Int64, covered: CoveredTime, over: Steps) -> dict[Piece, float]:
    """The covered seconds of each of these pieces."""
    found = sorted(set(zip(day.tolist(), step.tolist(), strict=True)))
    days, of = np.array(found, np.int64).reshape(-1, 2).T
    low = np.maximum(over.starts[of], days * float(DAY_S))
    high = np.minimum(over.ends[of], (days + 1) * float(DAY_S))
    return dict(zip(found, covered.within(low, high).tolist(), strict=True))
