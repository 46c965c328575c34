"""Counters of visits, in pairs for ratios (docs/events.md; DIGEST G28)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, distinct, func, select

from storage.arrays import Bool, Float, Int64
from storage.query.answers.inputs import MissingCounter
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_counter, stratum, visit
from storage.snapshots.copy_binary import Rows, read_fixed

_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Pairs:
    """Two counts for each pair of a visit and an application; each pair occurs once."""

    visit: Int64
    """Place in the `MachineVisits` that they were read for."""
    application: Int64
    """Id of the dimension's value; 0: the whole machine."""
    y: Float
    """Count in the part of the window in which the event was watched, like `x`."""
    x: Float

    def of(self, keep: Bool) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.visit[keep], self.application[keep], self.y[keep], self.x[keep])


class Counters:
    """The counters of some visits, each read once."""

    def __init__(self, connection: Connection, selection: Selection, visits: MachineVisits) -> None:
        """`visits` must be those of the selection."""
        self._connection = connection
        self._selection = selection
        self._visits = visits
        self._sides: dict[tuple[str, bool], _Side] = {}

    def pairs(self, y: str, x: str, *, by_application: bool) -> Pairs:
        """The counts of the counters `y` and `x`, of applications or of whole machines.

        Readings with both counters are used, so that the ratio is of the same moments. If a visit has no such reading,
        its readings of the whole window are used. If one of the two is missing, the pair is left out.
        """
        one, other = (self._side(name, by_application=by_application) for name in (y, x))
        together = np.intersect1d(one.reading, other.reading)
        has = np.zeros(len(self._visits) + 1, np.bool_)
        has[together >> 16] = True
        one, other = (side.of_readings(together, has) for side in (one, other))
        keys = np.intersect1d(one.key, other.key)
        # Counts cover the whole window; a weight is for a second in which the event was watched.
        share = self._visits.watched[keys >> 32]
        return Pairs(keys >> 32, keys & 0xFFFFFFFF, one.sums(keys) * share, other.sums(keys) * share)

    def _side(self, name: str, *, by_application: bool) -> "_Side":
        found = self._sides.get((name, by_application))
        if found is None:
            statement = _readings(self._selection, self._visits, name, by_application=by_application)
            rows = read_fixed(self._connection, statement, limit=_MAX_BYTES)
            found = _Side.of(rows, self._visits.places(rows.uuids("visit_id")))
            self._sides[name, by_application] = found
        return found


def read_pairs(
    connection: Connection,
    selection: Selection,
    visits: MachineVisits,
    y: str,
    x: str,
    *,
    by_application: bool,
) -> Pairs:
    """As `Counters.pairs`, for a single pair of counters."""
    return Counters(connection, selection, visits).pairs(y, x, by_application=by_application)


def read_failures(
    connection: Connection, selection: Selection, visits: MachineVisits, names: Sequence[str]
) -> tuple[MissingCounter, ...]:
    """The causes why these counters have no value in some of the visits, most visits first."""
    c, s = capture_counter.c, stratum.c
    statement = (
        select(c.name, c.status, c.errno, s.platform, func.count(distinct(c.visit_id)).label("visits"))
        .join(visit, visit.c.visit_id == c.visit_id)
        .join(stratum, s.stratum_id == visit.c.stratum_id)
        .where(
            *_of(selection, visits),
            c.name.in_(tuple(names)),
            c.status != "ok",
        )
        .group_by(c.name, c.status, c.errno, s.platform)
    )
    found = [MissingCounter(*row) for row in connection.execute(statement)]
    return tuple(sorted(found, key=lambda failure: (-failure.visits, failure.name, failure.platform)))


def _readings(selection: Selection, visits: MachineVisits, name: str, *, by_application: bool) -> Select[Any]:
    c = capture_counter.c
    whose = c.application > 0 if by_application else (c.application == 0) & (c.cgroup == "")
    return (
        select(c.visit_id, c.reading, c.application, c.scaled)
        .join(visit, visit.c.visit_id == c.visit_id)
        .where(*_of(selection, visits), c.name == name, c.status == "ok", c.scaled.is_not(None), whose)
    )


def _of(selection: Selection, visits: MachineVisits) -> tuple[Any, ...]:
    days = (capture_counter.c.day >= selection.start.date(), capture_counter.c.day <= selection.end.date())
    return (*days, *visits.among)


@dataclass(frozen=True, slots=True)
class _Side:
    reading: Int64
    """visit << 16 | number of the reading."""
    key: Int64
    """visit << 32 | application."""
    count: Float

    @classmethod
    def of(cls, rows: Rows, place: Int64) -> "_Side":
        there = place >= 0
        at = place[there]
        return cls(
            (at << 16) | rows.ints("reading")[there],
            (at << 32) | rows.ints("application")[there],
            rows.floats("scaled")[there],
        )

    def of_readings(self, together: Int64, has: np.ndarray[Any, np.dtype[np.bool_]]) -> "_Side":
        """Readings that the other side has too, and all readings of visits without any such."""
        keep = np.isin(self.reading, together) | ~has[self.reading >> 16]
        return _Side(self.reading[keep], self.key[keep], self.count[keep])

    def sums(self, keys: Int64) -> Float:
        """Sums by key."""
        there = np.isin(self.key, keys)
        return np.bincount(
            np.searchsorted(keys, self.key[there]), weights=self.count[there], minlength=len(keys)
        ).astype(np.float64)
