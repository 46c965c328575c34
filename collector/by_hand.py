"""A visit on request: one machine, now, outside all rounds and all figures of the fleet."""

import time
from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import Engine

from collector import schedule_round, sweep, visit_records
from collector.default_campaign import ensure_by_hand
from collector.plan import NO_COUNTERS, deadline_s, plan_message
from collector.schedule_round import ScheduledVisit
from collector.visit import Visitor, VisitResult
from storage import inventory, visit_history, visits
from storage.archive import Archive
from storage.campaigns import BY_HAND, Counted, EventPlan
from storage.visit_history import Ingestion


def schedule(engine: Engine, machine: str, visitor: Visitor) -> ScheduledVisit:
    """Record that the machine, enabled or not, is to be visited now. Raises `UnknownMachine`."""
    now = visitor.clock()
    sweep.create_partitions(engine, now.date())
    with engine.begin() as connection:
        found = inventory.find(connection, machine)
        return schedule_round.by_hand(connection, ensure_by_hand(connection), found, now)


async def run_visit(
    engine: Engine,
    archive: Archive,
    visitor: Visitor,
    scheduled: ScheduledVisit,
    *,
    events: Sequence[EventPlan],
    counted: Counted = NO_COUNTERS,
    on_progress: Callable[[float, int], None],
) -> VisitResult:
    """Visit the machine and record the outcome.

    If interrupted, the visit ends as lost. Raises `BadPlan`, `StorageError`.
    """
    visit_id = scheduled.visit_id
    try:
        plan = plan_message(visit_id, events, campaign=BY_HAND, counted=counted)
        with engine.begin() as connection:
            visits.begin(connection, visit_id, visitor.clock())
        visited = await visitor.visit(
            scheduled.machine.address, plan, deadline_s=deadline_s(events), on_progress=on_progress
        )
    except BaseException:
        visit_records.call_off(engine, [scheduled.visit], "The user interrupted it.")
        raise
    visit_records.close_visit(engine, archive, scheduled.visit, visited)
    return visited


def wait_for_ingestion(engine: Engine, visit_id: UUID, *, seconds: float) -> Ingestion | None:
    """Wait until the visit's capture is ingested or quarantined, at most `seconds`; its state then."""
    deadline = time.monotonic() + seconds
    while True:
        with engine.connect() as connection:
            ingestion = visit_history.ingestion(connection, visit_id)
        over = ingestion is None or ingestion.ingested or ingestion.quarantined is not None
        if over or time.monotonic() >= deadline:
            return ingestion
        time.sleep(0.2)
