"""Weights of the visits of one UTC day, from one snapshot.

A weight depends only on its own day (docs/numbers.md), so a stream of a month is weighted day by day. The sum over
its records equals the value in a table of the month.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b

import numpy as np
from sqlalchemy import Connection, Integer, column, select, values

from analysis.weights import Weights
from storage.arrays import Float, Int64
from storage.data.stream_position import midnight
from storage.data.stream_query import StreamSelection
from storage.query.estimation.covered_time import facts_horizon
from storage.query.estimation.sampling_design import Watched, read_watched, weigh_visits
from storage.query.estimation.strata import Strata, read_strata
from storage.schema import BY_HAND, capture_segment, visit
from storage.schema.base import utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class VisitWeight:
    """The weight of one visit."""

    weight: float
    utilisation_class: int
    group: int


@dataclass(frozen=True, slots=True)
class DayWeights:
    """The weights of a day with a random design."""

    day: date
    strata: Strata
    """One row per stratum."""
    weights: Weights
    watched: Watched
    """The weighted visits, by ascending id."""
    weight: Float
    """By visit, like `group`."""
    group: Int64
    number: int
    """Identifies these weights, 1…2⁶⁴−1: with equal numbers, equal visits have equal weights."""

    def of(self, visit_id: bytes) -> VisitWeight | None:
        """The weight of a visit; None: it was not weighted."""
        ids = self.watched.id
        key = np.array([visit_id], "S16")
        place = int(np.searchsorted(ids, key)[0])
        if place == len(ids) or ids[place] != key[0]:
            return None
        return VisitWeight(
            float(self.weight[place]), int(self.watched.utilisation_class[place]), int(self.group[place])
        )

    @property
    def cells(self) -> tuple[Float, Float]:
        """Visits and watched seconds by stratum and class; shapes (k, CLASSES)."""
        row = self.strata.row(self.watched.stratum, self.watched.day)
        inside = row >= 0
        frame = self.strata.frame(
            row[inside],
            self.watched.utilisation_class[inside],
            np.ones(int(inside.sum())),
            self.watched.seconds[inside],
        )
        return frame.visits, frame.watched_s


def read_day(connection: Connection, asked: StreamSelection, day: date) -> DayWeights | None:
    """The weights of a day's part of the selection; None: no visit was drawn at random, or its facts are deleted."""
    selection = asked.selection
    kept = max(selection.start, facts_horizon(connection))
    start, end = max(kept, midnight(day)), min(selection.end, midnight(day + timedelta(days=1)))
    if asked.campaign_id is None or start >= end:
        return None
    strata = read_strata(connection, asked.campaign_id, start, end)
    if strata is None:
        return None
    watched = read_watched(connection, (start, end), asked.campaign_id, asked.kind.id, stacks=asked.stacks)
    weights, weight, group = weigh_visits(strata, watched)
    if asked.kind.gauge:
        # A gauge is not summed over time, so its estimate covers the time of the whole selection.
        whole = read_strata(connection, asked.campaign_id, kept, selection.end)
        estimated_s = 0.0 if whole is None else whole.seconds_of(_ingested(connection, asked, kept, whole))
        weight *= watched.seconds / estimated_s if estimated_s > 0 else 0.0
    return DayWeights(day, strata, weights, watched, weight, group, _number(strata, weights, watched))


def _ingested(connection: Connection, asked: StreamSelection, start: datetime, whole: Strata) -> Int64:
    """Days of the selection, from `start` on, with a visit that sampled the event; other days have no weight."""
    rows = []
    for number in np.unique(whole.day).tolist():
        begins = _EPOCH + timedelta(days=number)
        rows.append((number, max(start, begins), min(asked.selection.end, begins + timedelta(days=1))))
    if not rows:
        return np.zeros(0, np.int64)
    c = visit.c
    of = values(column("day", Integer), column("low", utc), column("high", utc), name="of").data(rows)
    seen = (
        select(c.visit_id)
        .join(capture_segment, capture_segment.c.visit_id == c.visit_id)
        .where(
            c.campaign_id == asked.campaign_id,
            c.drawn_at >= of.c.low,
            c.drawn_at < of.c.high,
            c.round != BY_HAND,
            capture_segment.c.sample_type_id == asked.kind.id,
            capture_segment.c.stacks == asked.stacks,
            capture_segment.c.seconds > 0,
        )
        .correlate(of)
    )
    return np.array(connection.scalars(select(of.c.day).where(seen.exists())).all(), np.int64)


def _number(strata: Strata, weights: Weights, watched: Watched) -> int:
    digest = blake2b(digest_size=8, person=b"fp-design")
    for part in (strata.stratum, weights.weight, weights.group, watched.id):
        digest.update(np.ascontiguousarray(part).tobytes())
    return int.from_bytes(digest.digest(), "little") or 1
