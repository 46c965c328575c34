"""Leases of collectors: each renews its own every few seconds; open visits of a collector without a lease are orphans.

Only the database's clock counts, so collectors may disagree about the time. While the database is unavailable, no lease
can be renewed. So a collector judges others only after it has renewed its own lease for the length of a lease without a
gap, in which every other running collector has renewed, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, case, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from storage.schema import Outcome, collector_lease, visit

_FORGET_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Orphan:
    """An open visit whose collector is not running."""

    visit_id: UUID
    day: date
    campaign_id: int
    in_future: bool
    """Its draw time is still to come: its round is the campaign's current one."""
    last_sign: datetime | None
    """The last sign of life of its collector; None: unknown."""


def renew(connection: Connection, collector_id: UUID, length: timedelta) -> None:
    """Extend the collector's lease to `length` from now."""
    c, now = collector_lease.c, func.clock_timestamp()
    row = insert(collector_lease).values(collector_id=collector_id, since=now, alive_until=now + length)
    connection.execute(
        row.on_conflict_do_update(
            index_elements=[c.collector_id],
            set_={"since": case((c.alive_until < now, now), else_=c.since), "alive_until": now + length},
        )
    )


def release(connection: Connection, collector_id: UUID) -> None:
    """End the collector's lease: its open visits become orphans."""
    connection.execute(delete(collector_lease).where(collector_lease.c.collector_id == collector_id))


def running(connection: Connection) -> bool:
    """Whether a collector holds a lease that has not expired."""
    alive = collector_lease.c.alive_until >= func.clock_timestamp()
    return bool(connection.scalar(select(select(collector_lease.c.collector_id).where(alive).exists())))


def orphans(
    connection: Connection, judge: UUID, length: timedelta, *, limit: int, beyond: Sequence[UUID] = ()
) -> list[Orphan]:
    """Open visits of collectors with expired leases, oldest first, except those in `beyond`.

    Empty while `judge`, a collector, has not renewed its own lease for `length` without a gap.
    """
    c, now = collector_lease.c, func.clock_timestamp()
    settled = (
        select(c.collector_id)
        .where(c.collector_id == judge, c.since <= now - length, c.alive_until >= now)
        .exists()
    )
    of_visit = collector_lease.alias()
    rows = connection.execute(
        select(
            visit.c.visit_id,
            visit.c.day,
            visit.c.campaign_id,
            (visit.c.drawn_at > now).label("in_future"),
            (of_visit.c.alive_until - length).label("last_sign"),
        )
        .outerjoin(of_visit, of_visit.c.collector_id == visit.c.collector_id)
        .where(
            visit.c.outcome == Outcome.DRAWN,
            visit.c.collector_id.is_not(None),
            func.coalesce(of_visit.c.alive_until < now, True),
            visit.c.visit_id.not_in(beyond),
            settled,
        )
        .order_by(visit.c.drawn_at)
        .limit(limit)
    )
    return [Orphan(*row) for row in rows]


def forget(connection: Connection) -> None:
    """Delete leases that expired an hour ago: a collector without a lease counts as not running."""
    ended = collector_lease.c.alive_until < func.clock_timestamp() - _FORGET_AFTER
    connection.execute(delete(collector_lease).where(ended))
