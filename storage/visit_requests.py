"""Visits by hand that are requested over the API, and taken by a collector.

The visit's row exists from the request on, as for every visit by hand: outside all rounds, with probability 0, and not
counted in the coverage. A collector claims the request and makes the visit under its lease.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, update

from storage.campaigns import EventPlan
from storage.schema import Outcome, machine, visit, visit_request
from storage.visits import DrawnVisit


@dataclass(frozen=True, slots=True)
class RequestedVisit:
    """A claimed request."""

    visit: DrawnVisit
    machine: str
    """Its name."""
    events: tuple[EventPlan, ...]
    late: bool
    """It waited longer than a visit may: it is not to be made."""


def add(connection: Connection, visit_id: UUID, events: Sequence[EventPlan], requested_by: str) -> None:
    """Request a visit that was recorded in this transaction (`storage.visits.record_draw`)."""
    connection.execute(
        insert(visit_request).values(
            visit_id=visit_id, events=[asdict(event) for event in events], requested_by=requested_by
        )
    )


def lock(connection: Connection) -> None:
    """Make other requests wait until this transaction ends, so that the limits on open ones hold."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext("fleetprof.visit_request"))))


def unfinished(connection: Connection) -> dict[UUID, int]:
    """The requested visits that have not ended, with the ids of their machines."""
    rows = connection.execute(
        select(visit.c.visit_id, visit.c.machine_id)
        .join(visit_request, visit_request.c.visit_id == visit.c.visit_id)
        .where(visit.c.outcome == Outcome.DRAWN)
    )
    return {row.visit_id: row.machine_id for row in rows}


def waits(connection: Connection) -> bool:
    """Whether a request waits to be claimed."""
    found = select(visit_request.c.visit_id).where(visit_request.c.claimed_at.is_(None)).exists()
    return bool(connection.scalar(select(found)))


def claim(connection: Connection, collector_id: UUID, longest_wait: timedelta) -> list[RequestedVisit]:
    """Take all waiting requests for a collector that holds a lease, oldest first; each is taken once.

    Requests older than `longest_wait` are `late`. The caller ends visits that it does not make.
    """
    waiting = (
        select(visit_request.c.visit_id)
        .where(visit_request.c.claimed_at.is_(None))
        .with_for_update(skip_locked=True)
    )
    claimed = connection.execute(
        update(visit_request)
        .where(visit_request.c.visit_id.in_(waiting))
        .values(claimed_at=func.clock_timestamp())
        .returning(
            visit_request.c.visit_id,
            visit_request.c.events,
            (visit_request.c.requested_at < func.clock_timestamp() - longest_wait).label("late"),
        )
    ).all()
    if not claimed:
        return []
    requests = {row.visit_id: row for row in claimed}
    still_open = (visit.c.visit_id.in_(list(requests)), visit.c.outcome == Outcome.DRAWN)
    connection.execute(update(visit).where(*still_open).values(collector_id=collector_id))
    rows = connection.execute(
        select(visit, machine.c.name.label("machine"))
        .join(machine, machine.c.machine_id == visit.c.machine_id)
        .where(*still_open)
        .order_by(visit.c.drawn_at)
    )
    return [
        RequestedVisit(
            DrawnVisit(
                visit_id=row.visit_id,
                campaign_id=row.campaign_id,
                round=row.round,
                machine_id=row.machine_id,
                stratum_id=row.stratum_id,
                population=row.population,
                drawn=row.drawn,
                probability=row.probability,
                drawn_at=row.drawn_at,
            ),
            row.machine,
            tuple(EventPlan(**event) for event in requests[row.visit_id].events),
            requests[row.visit_id].late,
        )
        for row in rows
    ]
