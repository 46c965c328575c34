"""Which collectors run: each renews a lease every few seconds, and open visits of one whose lease ran out have no owner.

Only the database's clock counts, so collectors may disagree about the time. While the database is away no lease can be renewed: a collector
judges others only after it has renewed its own for the length of a lease without a gap, in which every other collector that runs has
renewed too.
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
    """An open visit whose collector runs no more."""

    visit_id: UUID
    day: date
    campaign_id: int
    in_future: bool
    """Its moment has not come: its round is the campaign's current one."""
    last_sign: datetime | None
    """Of its collector; None: not known any more."""


def renew(connection: Connection, collector_id: UUID, length: timedelta) -> None:
    """Hold the collector's lease for `length` from now on."""
    c, now = collector_lease.c, func.clock_timestamp()
    row = insert(collector_lease).values(collector_id=collector_id, since=now, alive_until=now + length)
    connection.execute(
        row.on_conflict_do_update(
            index_elements=[c.collector_id],
            set_={"since": case((c.alive_until < now, now), else_=c.since), "alive_until": now + length},
        )
    )


def release(connection: Connection, collector_id: UUID) -> None:
    """End the collector's lease: what it left open has no owner from now on."""
    connection.execute(delete(collector_lease).where(collector_lease.c.collector_id == collector_id))


def orphans(
    connection: Connection, judge: UUID, length: timedelta, *, limit: int, beyond: Sequence[UUID] = ()
) -> list[Orphan]:
    """Open visits of collectors whose lease ran out, oldest first, without those in `beyond`.

    None while `judge`, a collector, has not renewed its own lease without a gap for `length`.
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
    """Delete leases that ran out an hour ago: without one a collector is known to run no more."""
    ended = collector_lease.c.alive_until < func.clock_timestamp() - _FORGET_AFTER
    connection.execute(delete(collector_lease).where(ended))
