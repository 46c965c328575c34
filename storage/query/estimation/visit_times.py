"""When a selection's visits were drawn, which of them still wait, and which of its hours the campaign covered."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from sqlalchemy import Connection, Double, cast, func, select

from storage.arrays import Bool, Float, Int64
from storage.query.estimation.covered_time import HOUR_S, HOURS, CoveredTime, facts_horizon, read_covered
from storage.query.estimation.sampling_design import Ids
from storage.query.estimation.strata import NOT_KNOWN, Drawn, class_of
from storage.query.estimation.unfinished_visits import read_waiting
from storage.schema import BY_HAND, visit
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import among_uuids, read_fixed

_MAX_BYTES = 256 << 20
_VISIT_BYTES = 17
"""Bytes of a visit that is known by its hour: two numbers at most and a flag."""


@dataclass(frozen=True, slots=True)
class VisitTimes:
    """Columns over all visits of a selection's time and campaign, whatever their outcome, by ascending id."""

    id: Ids
    drawn_at: Float
    """Seconds since 1970."""
    at_random: Bool
    """Otherwise by hand."""
    waits: Bool
    """Drawn at random and unfinished: under way, or archived and not ingested yet."""
    covered: CoveredTime | None
    """None if the campaign has never drawn a visit at random."""

    def of(self, visits: Ids) -> Float:
        """When these visits, which must be among them, were drawn."""
        return self.drawn_at[np.searchsorted(self.id, visits)]


def read_visit_times(
    connection: Connection, campaign_id: int | None, start: datetime, end: datetime
) -> VisitTimes:
    """The visits drawn in [start, end), in this snapshot; `campaign_id` None: the campaign has not begun."""
    if campaign_id is None:
        no_flags = np.zeros(0, np.bool_)
        return VisitTimes(np.zeros(0, "S16"), np.zeros(0), no_flags, no_flags, None)
    c = visit.c
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            cast(func.date_part("epoch", c.drawn_at), Double).label("drawn_at"),
            (c.round != BY_HAND).label("at_random"),
        ).where(c.campaign_id == campaign_id, c.drawn_at >= start, c.drawn_at < end),
        limit=_MAX_BYTES,
    )
    ids = rows.uuids("visit_id")
    order = np.argsort(ids)
    return VisitTimes(
        ids[order],
        rows.floats("drawn_at")[order],
        np.array(rows.values("at_random"), np.bool_)[order],
        np.isin(ids[order], read_waiting(connection, campaign_id, start, end)),
        # Time with dropped facts is not covered: its visits would look like idle machines.
        read_covered(connection, campaign_id, min(max(start, facts_horizon(connection)), end), end),
    )


@dataclass(frozen=True, slots=True)
class DrawnVisits:
    """Columns over visits drawn at random, whatever their outcome."""

    id: Ids
    drawn_at: Float
    """Seconds since 1970."""
    stratum: Int64
    day: Int64
    """Days since 1970 UTC."""
    utilisation_class: Int64
    """0: unknown; 1…4: its quarter."""


def read_drawn(connection: Connection, campaign_id: int, start: datetime, end: datetime) -> DrawnVisits:
    """The visits drawn at random in [start, end), in this snapshot."""
    c = visit.c
    rows = read_fixed(
        connection,
        select(
            c.visit_id,
            c.stratum_id,
            c.hour,
            func.coalesce(c.utilisation, NOT_KNOWN).label("utilisation"),
            cast(func.date_part("epoch", c.drawn_at), Double).label("drawn_at"),
        ).where(c.campaign_id == campaign_id, c.drawn_at >= start, c.drawn_at < end, c.round != BY_HAND),
        limit=_MAX_BYTES,
    )
    return DrawnVisits(
        rows.uuids("visit_id"),
        rows.floats("drawn_at"),
        rows.ints("stratum_id"),
        rows.ints("hour") // HOURS,
        class_of(rows.floats("utilisation")),
    )


def read_hourly_times(
    connection: Connection, campaign_id: int, start: datetime, end: datetime, in_hours: Drawn
) -> VisitTimes:
    """The visits drawn at random in [start, end), each dated at the start of its hour, without ids.

    `in_hours` are those of all its hours, whole ones at the edges. Hours are covered as long as their cells are kept,
    whether or not facts exist.
    """
    hour, number = _by_hour(connection, campaign_id, start, end, in_hours)
    query_budget.take(_VISIT_BYTES * int(number.sum()))
    waiting = read_waiting(connection, campaign_id, start, end)
    waits = np.zeros(len(hour), np.int64)
    if len(waiting):
        rows = read_fixed(
            connection,
            select(visit.c.visit_id, visit.c.hour).where(among_uuids(visit.c.visit_id, waiting.tolist())),
            limit=_MAX_BYTES,
        )
        np.add.at(waits, np.searchsorted(hour, rows.ints("hour")), 1)
    place = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
    return VisitTimes(
        np.zeros(0, "S16"),
        np.repeat(hour * float(HOUR_S), number),
        np.ones(len(place), np.bool_),
        place < np.repeat(waits, number),
        read_covered(connection, campaign_id, start, end),
    )


def _by_hour(
    connection: Connection, campaign_id: int, start: datetime, end: datetime, in_hours: Drawn
) -> tuple[Int64, Int64]:
    """Hours since 1970, ascending, and the number of visits drawn in the requested part of each."""
    hour, place = np.unique(in_hours.hour, return_inverse=True)
    number = np.bincount(place, in_hours.visits, len(hour)).astype(np.int64)
    for at, edge in enumerate(hour.tolist()):
        begins = datetime.fromtimestamp(edge * HOUR_S, UTC)
        ends = begins + timedelta(seconds=HOUR_S)
        if begins < start or ends > end:
            c = visit.c
            inside = (c.drawn_at >= max(begins, start), c.drawn_at < min(ends, end))
            counted = select(func.count()).where(c.campaign_id == campaign_id, *inside, c.round != BY_HAND)
            number[at] = connection.scalar(counted) or 0
    return hour, number
