"""The machine-time that a selection represents: strata by day, their machines and seconds.

A campaign covers the time of its rounds, up to now, in hours in which they drew visits (`covered_time`). Requested time
beyond that is reported, not extrapolated over. Source: docs/numbers.md; DIGEST G1, G2.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import ceil

import numpy as np
from sqlalchemy import Connection, Integer, bindparam, func, select

from analysis.weights import CLASSES, Frame
from storage.arrays import Float, Int64
from storage.query.estimation.covered_time import HOUR_S, HOURS, CoveredTime, Span, covered_of, read_known
from storage.query.estimation.unfinished_visits import count_waiting
from storage.schema import BY_HAND, coverage, visit
from storage.schema import stratum as table
from storage.snapshots.copy_binary import Rows, read_fixed
from storage.snapshots.snapshot_cache import cached_per_snapshot

_MAX_BYTES = 256 << 20
NOT_KNOWN = -1.0
"""Utilisation of a visit that did not report it."""

# Built once: a query has a dozen statements, and building one costs more than reading its rows.
_CAMPAIGN, _FIRST = coverage.c.campaign_id == bindparam("campaign"), bindparam("first", type_=Integer)
_WHOLE = table.alias("whole")
_ALIKE = (
    select(table.c.stratum_id, func.min(_WHOLE.c.stratum_id).label("first"))
    .join(_WHOLE, (_WHOLE.c.datacenter == table.c.datacenter) & (_WHOLE.c.platform == table.c.platform))
    .group_by(table.c.stratum_id)
    .subquery()
)
"""For each stratum the first of those that differ only in their density."""
_COVERAGE = (
    select(
        coverage.c.stratum_id,
        coverage.c.hour,
        coverage.c.utilisation_class,
        coverage.c.population,
        coverage.c.drawn,
        func.coalesce(_ALIKE.c.first, coverage.c.stratum_id, type_=Integer).label("first"),
    )
    .outerjoin(_ALIKE, _ALIKE.c.stratum_id == coverage.c.stratum_id)
    .where(_CAMPAIGN, coverage.c.hour >= _FIRST, coverage.c.hour < bindparam("end"))
)

_AT_EDGE = select(
    visit.c.stratum_id, visit.c.hour, func.coalesce(visit.c.utilisation, NOT_KNOWN).label("utilisation")
).where(
    visit.c.campaign_id == bindparam("campaign"),
    visit.c.drawn_at >= bindparam("low"),
    visit.c.drawn_at < bindparam("high"),
    visit.c.round != BY_HAND,
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Columns over the `coverage` rows of a selection: visits by hour, stratum and class."""

    hour: Int64
    """Hours since 1970."""
    cell: Int64
    """A number for each stratum and class."""
    visits: Int64

    def within(self, hours: Int64) -> "Drawn":
        """The rows of some hours."""
        keep = np.isin(self.hour, hours)
        return Drawn(self.hour[keep], self.cell[keep], self.visits[keep])


_NONE = np.zeros(0, np.int64)
_NOT_DRAWN = Drawn(_NONE, _NONE, _NONE)


@dataclass(frozen=True, slots=True)
class Strata:
    """One row for each stratum and UTC day of a selection, in ascending order of (day, stratum)."""

    stratum: Int64
    day: Int64
    """Days since 1970 UTC."""
    population: Float
    """Machines, as a mean over the day's covered seconds."""
    covered_s: Float
    """Seconds of the selection that the campaign covered; the same for all strata of a day."""
    drawn: Float
    """Visits drawn by utilisation class (0: unknown, then the four quarters); shape (k, CLASSES)."""
    selected_s: float
    total_covered_s: float
    machines: float
    """Machines of all strata, as a mean over the covered seconds; 0 if there are none."""
    alike: Int64
    """The stratum that represents all that differ only in their density."""
    in_hours: Drawn = _NOT_DRAWN
    """The same visits by hour, including whole hours at the edges."""
    waiting: int = 0
    """Unfinished visits among the drawn ones."""
    missing: tuple[Span, ...] = ()
    """As in `storage.query.estimation.sampling_design.Coverage`."""

    def row(self, stratum: Int64, day: Int64) -> Int64:
        """The row of each (stratum, day); -1 if the campaign did not cover it."""
        if not len(self.stratum):
            return np.full(len(stratum), -1, np.int64)
        keys = _key(self.stratum, self.day)
        wanted = _key(stratum, day)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    def seconds_of(self, days: Int64) -> float:
        """Covered seconds of these days since 1970 UTC; exactly the total if these are all days."""
        every, first = np.unique(self.day, return_index=True)
        kept = np.isin(every, days)
        return self.total_covered_s if kept.all() else float(self.covered_s[first[kept]].sum())

    def frame(self, row: Int64, utilisation_class: Int64, visits: Float, seconds: Float) -> Frame:
        """The input of `analysis.weights`: these strata, and the visits ingested in them.

        The arguments are columns over any partition of the ingested visits: their row, their class as in `drawn`, their
        number and their observed seconds.
        """
        size = len(self.stratum) * CLASSES
        cell = row * CLASSES + utilisation_class
        shape = (len(self.stratum), CLASSES)
        return Frame(
            stratum=self.stratum,
            day=self.day,
            population=self.population,
            covered_s=self.covered_s,
            drawn=self.drawn,
            visits=np.bincount(cell, weights=visits, minlength=size).astype(np.float64).reshape(shape),
            watched_s=np.bincount(cell, weights=seconds, minlength=size).astype(np.float64).reshape(shape),
            alike=self.alike,
        )


def class_of(utilisation: Float) -> Int64:
    """Column of a frame for each busy share; `NOT_KNOWN` and NaN are 0. As in `storage.coverage`."""
    quarter = np.minimum(np.floor(np.clip(utilisation, 0.0, 1.0) * (CLASSES - 1)), CLASSES - 2)
    return np.where(utilisation >= 0, 1 + np.nan_to_num(quarter), 0).astype(np.int64)


@cached_per_snapshot
def read_strata(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> Strata | None:
    """The strata of [start, end) in this snapshot; None if the campaign has never drawn a visit."""
    asked = np.array([start.timestamp(), end.timestamp()])
    first, last = int(asked[0] // HOUR_S), ceil(asked[1] / HOUR_S)
    rows = read_fixed(
        connection, _COVERAGE, {"campaign": campaign_id, "first": first, "end": last}, limit=_MAX_BYTES
    )
    hour, drawn = rows.ints("hour"), rows.ints("drawn")
    known = read_known(connection, campaign_id, asked)
    time = covered_of(connection, campaign_id, np.unique(hour[drawn > 0]), asked, known)
    if time is None:
        return None
    edges = [_drawn_at_edge(connection, campaign_id, *part) for part in parts_of_hours(start, end)]
    found = strata_of(rows, time, asked, edges)
    waiting = count_waiting(connection, campaign_id, start, end) if known.some_wait else 0
    return replace(found, waiting=waiting)


def strata_of(rows: Rows, time: CoveredTime, asked: Float, edges: Sequence[Rows]) -> Strata:
    """The strata of a time from its rows of coverage; `edges` are the visits of each of `parts_of_hours`.

    `rows` has the columns of `_COVERAGE`, `edges` those of `_AT_EDGE`.
    """
    hour, drawn = rows.ints("hour"), rows.ints("drawn")
    covered = np.isin(hour, time.hour)
    stratum, klass = rows.ints("stratum_id"), rows.ints("utilisation_class")
    whole = (hour * HOUR_S >= asked[0]) & ((hour + 1) * HOUR_S <= asked[1])
    counted = covered & whole
    found = _strata(
        time,
        populations=(stratum[covered], hour[covered], rows.ints("population")[covered]),
        drawn=tuple(
            np.concatenate(pair)
            for pair in zip(
                (stratum[counted], hour[counted] // HOURS, klass[counted] + 1, drawn[counted]),
                _edges(edges),
                strict=True,
            )
        ),
        selected_s=float(asked[1] - asked[0]),
    )
    some = drawn > 0
    in_hours = Drawn(hour[some], (stratum * CLASSES + klass + 1)[some], drawn[some])
    return replace(found, alike=_alike(found.stratum, stratum, rows.ints("first")), in_hours=in_hours)


def _alike(strata: Int64, stratum: Int64, first: Int64) -> Int64:
    """The strata, with those that differ only in their density as one; `first` belongs to each `stratum`.

    They have different weights. But a comparison permutes visits among equal machines, so an hour that was thinned
    has a counterpart in one that was not.
    """
    known, place = np.unique(stratum, return_index=True)
    return first[place[np.searchsorted(known, strata)]]


def _strata(
    time: CoveredTime,
    populations: tuple[Int64, Int64, Int64],
    drawn: tuple[Int64, ...],
    *,
    selected_s: float,
) -> Strata:
    stratum, hour, machines = populations
    # The rows of one hour differ by class: each has the largest population that its visits saw.
    pairs, which = np.unique((hour << 32) | stratum, return_inverse=True)
    largest = np.zeros(len(pairs), np.int64)
    np.maximum.at(largest, which, machines)
    per_hour = time.seconds
    seconds = per_hour[np.searchsorted(time.hour, pairs >> 32)]
    keys, of = np.unique(_key(pairs & 0xFFFFFFFF, (pairs >> 32) // HOURS), return_inverse=True)
    day = keys >> 32
    days, of_day = np.unique(time.hour // HOURS, return_inverse=True)
    per_day = np.bincount(of_day, weights=per_hour, minlength=len(days))
    covered = per_day[np.searchsorted(days, day)]
    machine_s = np.bincount(of, weights=largest * seconds, minlength=len(keys))
    total = float(per_hour.sum())
    counts = np.zeros((len(keys), CLASSES))
    result = Strata(
        stratum=keys & 0xFFFFFFFF,
        day=day,
        population=np.divide(machine_s, covered, out=np.zeros(len(keys)), where=covered > 0),
        covered_s=covered.astype(np.float64),
        drawn=counts,
        selected_s=selected_s,
        total_covered_s=total,
        machines=float(machine_s.sum()) / total if total > 0 else 0.0,
        alike=keys & 0xFFFFFFFF,
    )
    row = result.row(drawn[0], drawn[1])
    there = row >= 0
    np.add.at(counts, (row[there], drawn[2][there]), drawn[3][there])
    return result


def parts_of_hours(start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """The partial hours at the edges of [start, end), which contains the hours between them whole."""
    begin, until = start.timestamp(), end.timestamp()
    parts = []
    first, last = int(begin // HOUR_S), int(until // HOUR_S)
    if begin % HOUR_S or first == last:
        parts.append((start, datetime.fromtimestamp(min((first + 1) * HOUR_S, until), UTC)))
    if until % HOUR_S and first != last:
        parts.append((datetime.fromtimestamp(last * HOUR_S, UTC), end))
    return parts


def _drawn_at_edge(connection: Connection, campaign_id: int, low: datetime, high: datetime) -> Rows:
    """The visits drawn in a part of an hour."""
    given = {"campaign": campaign_id, "low": low, "high": high}
    return read_fixed(connection, _AT_EDGE, given, limit=_MAX_BYTES)


def _edges(edges: Sequence[Rows]) -> tuple[Int64, Int64, Int64, Int64]:
    """(stratum, day, class, 1) of the visits drawn in parts of hours."""
    found = [np.zeros((4, 0), np.int64)]
    for rows in edges:
        klass = class_of(rows.floats("utilisation"))
        found.append(
            np.stack((rows.ints("stratum_id"), rows.ints("hour") // HOURS, klass, np.ones_like(klass)))
        )
    stratum, day, klass, one = np.concatenate(found, axis=1)
    return stratum, day, klass, one


def _key(stratum: Int64, day: Int64) -> Int64:
    return (day << 32) | stratum
