"""A visit that someone asks for: one machine, now, outside every round and every figure of the fleet."""

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import Engine

from collector import appointments, books, sweep
from collector.appointments import Appointment
from collector.plan import NOTHING_MORE, deadline_s, plan_message
from collector.standing import BY_HAND, ensure_by_hand
from collector.visit import Visited, Visitor
from storage import inventory, visit_history, visits
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.visit_history import Landing


def book(engine: Engine, machine: str, visitor: Visitor) -> Appointment:
    """Write down that the machine is visited now; also one that is disabled. Raises `UnknownMachine`."""
    now = visitor.clock()
    sweep.make_room(engine, now.date())
    with engine.begin() as connection:
        found = inventory.find(connection, machine)
        return appointments.by_hand(connection, ensure_by_hand(connection), found, now)


async def carry_out(
    engine: Engine,
    archive: Archive,
    visitor: Visitor,
    appointment: Appointment,
    *,
    events: Sequence[EventPlan],
    counted: Counted = NOTHING_MORE,
    on_progress: Callable[[float, int], None],
) -> Visited:
    """Visit the machine and write down how it went.

    Interrupted, the visit ends as lost. Raises `BadPlan`, `StorageError`.
    """
    visit_id = appointment.visit_id
    try:
        plan = plan_message(visit_id, events, campaign=BY_HAND, counted=counted)
        with engine.begin() as connection:
            visits.begin(connection, visit_id, visitor.clock())
        visited = await visitor.visit(
            appointment.machine.address, plan, deadline_s=deadline_s(events), on_progress=on_progress
        )
    except BaseException:
        books.call_off(engine, [appointment.visit], "It was interrupted by hand.")
        raise
    books.close_visit(engine, archive, appointment.visit, visited)
    return visited


def wait_for_landing(engine: Engine, visit_id: UUID, *, seconds: float) -> Landing | None:
    """Wait until the visit's capture is landed or given up, at most `seconds`; how far it is then."""
    deadline = time.monotonic() + seconds
    while True:
        with engine.connect() as connection:
            landing = visit_history.landing(connection, visit_id)
        over = landing is None or landing.landed or landing.set_aside is not None
        if over or time.monotonic() >= deadline:
            return landing
        time.sleep(0.2)
