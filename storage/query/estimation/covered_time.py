"""Covered time: when a campaign drew visits and facts exist, the time over which estimates are weighted and averaged.

A round covers the time over which its visits are scattered. `covered_time` has the runs of consecutive rounds, so if a
collector was down for twenty minutes of an hour, these are not covered. Cells, visits and coverage are kept longer than
chunks (storage/retention/README.md). Source: docs/numbers.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Column, Connection, DateTime, Integer, bindparam, func, select
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import NullType

from storage import partitions
from storage.arrays import Float, Int64
from storage.query.estimation.unfinished_visits import SOME_WAIT
from storage.schema import coverage, covered_time
from storage.snapshots.snapshot_cache import cached_per_snapshot

HOUR_S = 3600
HOURS = 24

_CAMPAIGN = bindparam("campaign", type_=Integer)
_FIRST, _END = bindparam("first", type_=Integer), bindparam("end", type_=Integer)
_BEGIN, _UNTIL = (bindparam(name, type_=DateTime(timezone=True)) for name in ("begin", "until"))


def _seconds_of(moments: Column[datetime]) -> ColumnElement[Any]:
    """Begins or ends of the campaign's runs that overlap [begin, until), as an array; NULL if there are none."""
    c = covered_time.c
    seconds = func.array_agg(func.date_part("epoch", moments), type_=NullType())
    return (
        select(seconds)
        .where(c.campaign_id == _CAMPAIGN, c.ends > _BEGIN, c.begins < _UNTIL)
        .scalar_subquery()
    )


# Built once: a query has a dozen statements, and building one costs more than reading its rows.
_KNOWN = select(
    func.now(),
    _seconds_of(covered_time.c.begins),
    _seconds_of(covered_time.c.ends),
    SOME_WAIT,
)
_ACTIVE = (
    select(coverage.c.hour)
    .distinct()
    .where(
        coverage.c.campaign_id == _CAMPAIGN,
        coverage.c.hour >= _FIRST,
        coverage.c.hour < _END,
        coverage.c.drawn > 0,
    )
)


class Runs(NamedTuple):
    """Times of consecutive rounds; they may overlap."""

    begins: Float
    """Seconds since 1970, in any order."""
    ends: Float
    """Seconds since 1970, not always in the order of `begins`."""


@dataclass(frozen=True, slots=True)
class CoveredTime:
    """The part of a selection in which a campaign drew visits: disjoint pieces of hours, ascending."""

    hour: Int64
    """The hours since 1970 in which it drew visits, ascending; some may be outside the selection's pieces."""
    low: Float
    """Start of each piece in seconds since 1970; it lies in one of the hours."""
    high: Float
    """End of each piece."""
    until: float
    """End of the selection, but not after now."""

    @property
    def begin(self) -> float:
        """The first covered moment; `until` if there is none."""
        return float(self.low[0]) if len(self.low) else self.until

    @property
    def seconds(self) -> Float:
        """Covered seconds of each hour."""
        place = np.searchsorted(self.hour, self._hour_of_piece)
        return np.bincount(place, self.high - self.low, len(self.hour)).astype(np.float64)

    def of_days(self, days: Int64) -> "CoveredTime":
        """The covered time of some days since 1970 UTC."""
        kept = np.isin(self._hour_of_piece // HOURS, days)
        hour = self.hour[np.isin(self.hour // HOURS, days)]
        return replace(self, hour=hour, low=self.low[kept], high=self.high[kept])

    def within(self, starts: Float, ends: Float) -> Float:
        """Covered seconds of each [start, end)."""
        if not len(self.low):
            return np.zeros(len(starts))
        until = np.cumsum(self.high - self.low)
        # Cumulative covered time rises within pieces and is constant between them.
        moments = np.stack((self.low, self.high), axis=1).ravel()
        risen = np.stack((until - (self.high - self.low), until), axis=1).ravel()
        return np.asarray(np.interp(ends, moments, risen) - np.interp(starts, moments, risen), np.float64)

    @property
    def _hour_of_piece(self) -> Int64:
        return (self.low // HOUR_S).astype(np.int64)


def covered_in(active: Int64, runs: Runs, begin: float, until: float) -> CoveredTime:
    """The part of [begin, until) that runs cover, in the hours in which visits were drawn (`active`, ascending).

    `runs` are all that overlap these hours, which are whole at the edges. An hour that overlaps no run counts whole:
    days exported before rounds' times were stored have no runs, nor has data that was copied into a store by other
    means.
    """
    hour_s = float(HOUR_S)
    edges = np.unique(np.concatenate((runs.begins, runs.ends, active * hour_s, (active + 1) * hour_s)))
    low, high = edges[:-1], edges[1:]
    begun = np.searchsorted(np.sort(runs.begins), low, side="right")
    inside = begun > np.searchsorted(np.sort(runs.ends), low, side="right")
    hour = (low // hour_s).astype(np.int64)
    untouched = ~np.isin(hour, hour[inside])
    counts = (inside | untouched) & np.isin(hour, active)
    low, high = np.maximum(low[counts], begin), np.minimum(high[counts], until)
    some = high > low
    return CoveredTime(active, low[some], high[some], until)


class Known(NamedTuple):
    """Inputs of a selection's covered time, besides the hours in which visits were drawn."""

    now: float
    """Seconds since 1970."""
    runs: Runs
    """Runs that overlap any of its hours, which are whole at the edges."""
    some_wait: bool
    """Whether any visit of any campaign is unfinished."""


@cached_per_snapshot
def read_covered(
    connection: Connection, campaign_id: int, start: datetime, end: datetime
) -> CoveredTime | None:
    """The covered time of [start, end) in this snapshot; None if the campaign has never drawn a visit."""
    asked = np.array([start.timestamp(), end.timestamp()])
    active = connection.scalars(_ACTIVE, _given(campaign_id, asked)).all()
    known = read_known(connection, campaign_id, asked)
    return covered_of(connection, campaign_id, np.array(sorted(active), np.int64), asked, known)


def covered_of(
    connection: Connection, campaign_id: int, active: Int64, asked: Float, known: Known
) -> CoveredTime | None:
    """As `read_covered`, given the selection's hours in which the campaign drew visits (`active`, ascending)."""
    if not len(active) and not draws(connection, campaign_id):
        return None
    begin, end = map(float, asked)
    return covered_in(active, known.runs, begin, min(end, known.now))


def read_known(connection: Connection, campaign_id: int, asked: Float) -> Known:
    """Read the first inputs by one statement: each statement costs a small query more than its rows."""
    given = _given(campaign_id, asked)
    now, begins, ends, some_wait = connection.execute(_KNOWN, given).one()
    runs = Runs(np.array(begins or [], np.float64), np.array(ends or [], np.float64))
    return Known(now.timestamp(), runs, bool(some_wait))


def draws(connection: Connection, campaign_id: int) -> bool:
    """Whether the campaign has ever drawn a visit at random."""
    c = coverage.c
    statement = select(c.hour).where(c.campaign_id == campaign_id, c.drawn > 0)
    return connection.execute(statement.limit(1)).first() is not None


def _given(campaign_id: int, asked: Float) -> Mapping[str, Any]:
    first, end = int(asked[0] // HOUR_S), ceil(asked[1] / HOUR_S)
    begin, until = (datetime.fromtimestamp(hour * HOUR_S, UTC) for hour in (first, end))
    return {"campaign": campaign_id, "first": first, "end": end, "begin": begin, "until": until}


Span = tuple[datetime, datetime]
"""Start and end of a time."""

_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


@cached_per_snapshot
def facts_horizon(connection: Connection) -> datetime:
    """The midnight from which chunks exist, in this snapshot; before it there are cells at most."""
    oldest = partitions.oldest(connection)
    return _ALWAYS if oldest is None else datetime.combine(oldest, time(), UTC)


@cached_per_snapshot
def cells_horizon(connection: Connection) -> datetime:
    """The midnight from which cells and coverage exist, in this snapshot."""
    oldest: date | None = connection.scalar(select(func.min(coverage.c.day)))
    return _ALWAYS if oldest is None else datetime.combine(oldest, time(), UTC)


def not_kept(start: datetime, end: datetime, kept: datetime) -> tuple[Span, ...]:
    """The part of [start, end) before `kept`."""
    return ((start, min(kept, end)),) if start < min(kept, end) else ()


def midnight(moment: datetime) -> datetime:
    """The start of a moment's UTC day."""
    return datetime.combine(moment.astimezone(UTC).date(), time(), UTC)
