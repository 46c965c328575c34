"""The sampling design of a selection of a lake's days: strata, covered time, and the ingested visits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil, isnan

import numpy as np

from storage.arrays import Float
from storage.query.estimation.covered_time import HOUR_S, HOURS, CoveredTime, Runs, covered_in
from storage.query.estimation.sampling_design import (
    Coverage,
    Design,
    Ids,
    VisitWeights,
    Watched,
    random_design,
    watched_of,
)
from storage.query.estimation.strata import NOT_KNOWN, Strata, class_of, parts_of_hours, strata_of
from storage.query.estimation.visit_times import DrawnVisits, VisitTimes
from storage.query.facts.visit_scan import WHOLE, SampleType
from storage.query.selections.selection import Selection
from storage.schema import BY_HAND
from storage.segments.manifest import Manifest
from storage.segments.session import Session
from storage.snapshots.copy_binary import Rows

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DRAWN_IN = "v.campaign_id = ? AND epoch_us(v.drawn_at) >= ? AND epoch_us(v.drawn_at) < ?"
_AT_RANDOM = f"v.round <> {BY_HAND}"
_COVERAGE = """
SELECT c.stratum_id, c.hour, c.utilisation_class, c.population, c.drawn, coalesce(a.first, c.stratum_id) AS first
FROM coverage c LEFT JOIN (
    SELECT stratum_id, min(stratum_id) OVER (PARTITION BY datacenter, platform) AS first FROM newest_strata
) a USING (stratum_id)
WHERE c.campaign_id = ? AND c.hour >= ? AND c.hour < ?
"""
_VISITS = f"""
SELECT unhex(replace(v.visit_id, '-', '')) AS visit_id, v.stratum_id, v.hour, coalesce(v.utilisation, {NOT_KNOWN}) AS utilisation,
    epoch_us(v.drawn_at) / 1e6 AS drawn_at, {_AT_RANDOM} AS at_random
FROM visits v WHERE {_DRAWN_IN}
"""  # noqa: S608 - our own names
_WATCHED = f"""
SELECT unhex(replace(v.visit_id, '-', '')) AS visit_id, v.stratum_id, v.hour, coalesce(v.utilisation, {NOT_KNOWN}) AS utilisation,
    s.stacks, sum(s.seconds) AS seconds
FROM visits v JOIN segments s ON s.day = v.day AND s.visit = v.visit
WHERE {_DRAWN_IN} AND {_AT_RANDOM} AND s.sample_type_id = ? AND s.seconds > 0
GROUP BY ALL
"""  # noqa: S608 - our own names
_FIRST_VISIT = f"SELECT min(epoch_us(v.drawn_at)) AS first FROM visits v WHERE v.campaign_id = ? AND v.hour = ? AND {_AT_RANDOM}"  # noqa: S608 - our own names


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 UTC."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def in_part(ids: Ids, parts: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which visits are in the first `parts` of the `WHOLE` parts; like `storage.query.facts.visit_scan.in_part`."""
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        np.ascontiguousarray(ids).view(np.uint8).reshape(-1, 16)[:, 15] < parts
    )
    return found


class Designs:
    """The designs of one query's selections, as `storage.query.estimation` reads them from PostgreSQL.

    The lake has only whole, closed days: no capture of them waits for ingestion, and a day is complete or missing.
    """

    def __init__(self, session: Session, manifests: Sequence[Manifest]) -> None:
        self._session = session
        self._manifests = manifests
        self.strata = cache(self._strata)
        self.covered = cache(self._covered)

    def draws(self, campaign_id: int) -> bool:
        """Whether the campaign had drawn any visit at random by the time of the export."""
        return any(campaign_id in manifest.begun for manifest in self._manifests)

    def design(
        self,
        selection: Selection,
        campaign_id: int | None,
        kind: SampleType,
        *,
        stacks: bool | None,
        parts: int = WHOLE,
    ) -> tuple[Design, VisitWeights | None]:
        """Like `storage.query.estimation.sampling_design.read_design`, for `parts` of the `WHOLE` parts of visits."""
        strata = None
        if campaign_id is not None:
            strata = self.strata(campaign_id, selection.start, selection.end)
        if strata is None or campaign_id is None:
            asked = (selection.end - selection.start).total_seconds()
            return Design(Coverage(random=False, selected_s=asked), None, np.zeros(0, np.int64)), None
        watched = self.watched(selection, campaign_id, kind, stacks=stacks, parts=parts)
        return random_design(strata, watched, approximate=parts < WHOLE, gauge=kind.gauge)

    def watched(
        self,
        selection: Selection,
        campaign_id: int,
        kind: SampleType,
        *,
        stacks: bool | None,
        parts: int = WHOLE,
    ) -> Watched:
        """Like `storage.query.estimation.sampling_design.read_watched`, for `parts` of the `WHOLE` parts of visits."""
        given = [*_given(campaign_id, selection.start, selection.end), kind.id]
        watched = watched_of(self._session.rows(_WATCHED, given), stacks=stacks)
        return watched.of(in_part(watched.id, parts)) if parts < WHOLE else watched

    def visit_times(self, selection: Selection, campaign_id: int | None) -> VisitTimes:
        """Like `storage.query.estimation.visit_times.read_visit_times`."""
        if campaign_id is None:
            none = np.zeros(0, np.bool_)
            return VisitTimes(np.zeros(0, "S16"), np.zeros(0), none, none, None)
        rows = self._session.rows(_VISITS, _given(campaign_id, selection.start, selection.end))
        ids = rows.uuids("visit_id")
        order = np.argsort(ids)
        return VisitTimes(
            ids[order],
            rows.floats("drawn_at")[order],
            np.array(rows.values("at_random"), np.bool_)[order],
            np.zeros(len(ids), np.bool_),
            self.covered(campaign_id, selection.start, selection.end),
        )

    def drawn(self, campaign_id: int, start: datetime, end: datetime) -> DrawnVisits:
        """Like `storage.query.estimation.visit_times.read_drawn`."""
        rows = self._session.rows(f"{_VISITS} AND {_AT_RANDOM}", _given(campaign_id, start, end))
        return DrawnVisits(
            rows.uuids("visit_id"),
            rows.floats("drawn_at"),
            rows.ints("stratum_id"),
            rows.ints("hour") // HOURS,
            class_of(rows.floats("utilisation")),
        )

    def _strata(self, campaign_id: int, start: datetime, end: datetime) -> Strata | None:
        time = self.covered(campaign_id, start, end)
        if time is None:
            return None
        asked = np.array([start.timestamp(), end.timestamp()])
        edges = [
            self._session.rows(f"{_VISITS} AND {_AT_RANDOM}", _given(campaign_id, *part))
            for part in parts_of_hours(start, end)
        ]
        return strata_of(self._coverage(campaign_id, asked), time, asked, edges)

    def _covered(self, campaign_id: int, start: datetime, end: datetime) -> CoveredTime | None:
        asked = np.array([start.timestamp(), end.timestamp()])
        rows = self._coverage(campaign_id, asked)
        active = np.unique(rows.ints("hour")[rows.ints("drawn") > 0])
        if not len(active) and not self.draws(campaign_id):
            return None
        now = datetime.now(UTC).timestamp()
        first, last = asked[0] // HOUR_S * HOUR_S, -(-asked[1] // HOUR_S) * HOUR_S
        runs = self._runs(campaign_id)
        touching = (runs[:, 1] > first) & (runs[:, 0] < last)
        return covered_in(active, Runs(*runs[touching].T), float(asked[0]), min(float(asked[1]), now))

    def _coverage(self, campaign_id: int, asked: Float) -> Rows:
        given = [campaign_id, int(asked[0] // HOUR_S), ceil(asked[1] / HOUR_S)]
        return self._session.rows(_COVERAGE, given)

    def _runs(self, campaign_id: int) -> Float:
        """(begin, end) of the runs of the campaign's rounds, seconds since 1970; (runs, 2)."""
        found: list[tuple[float, float]] = []
        for manifest in self._manifests:
            if manifest.covered is not None:
                found += [(low / 1e6, high / 1e6) for low, high in manifest.covered.get(campaign_id, ())]
            elif campaign_id in manifest.begun:
                # Days without recorded runs: the campaign's first hour began with its first visit.
                hour = manifest.begun[campaign_id]
                first = float(self._session.rows(_FIRST_VISIT, [campaign_id, hour]).floats("first")[0])
                if not isnan(first):
                    found.append((first / 1e6, float((hour + 1) * HOUR_S)))
        return np.array(found, np.float64).reshape(-1, 2)


def _given(campaign_id: int, start: datetime, end: datetime) -> list[int]:
    return [campaign_id, microseconds(start), microseconds(end)]
