"""Captures without a blob: recorded, leased, ingested and ended by hand."""

import hashlib
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, func, select, update

from storage import campaigns, captures, inventory, leases, visits
from storage.archive import capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.leases import Lease
from storage.schema import Outcome, capture
from storage.visits import DrawnVisit

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def draw(engine: Engine, count: int = 1) -> list[UUID]:
    """Committed visits that have not ended."""
    with engine.begin() as connection:
        definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign_id = campaigns.create_or_update(connection, definition).campaign_id
        machine_id = inventory.add(connection, NewMachine("m", "h:1"), replace=True)
        stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
        drawn = [
            DrawnVisit(uuid4(), campaign_id, 0, machine_id, stratum_id, 1, 1, 1.0, NOON) for _ in range(count)
        ]
        visits.record_draw(connection, drawn)
        return [one.visit_id for one in drawn]


def described(visit_id: UUID, blob: bytes = b"blob") -> NewCapture:
    return NewCapture(
        visit_id=visit_id,
        day=NOON.date(),
        blob=capture_key(NOON.date(), visit_id),
        bytes=len(blob),
        raw_bytes=100,
        sha256=hashlib.sha256(blob).digest(),
        samples=7,
    )


def archived(engine: Engine, count: int = 1) -> list[UUID]:
    """Committed captures that wait to be ingested."""
    ids = draw(engine, count)
    with engine.begin() as connection:
        for visit_id in ids:
            assert captures.record(connection, described(visit_id))
    return ids


def lease(engine: Engine, visit_id: UUID, seconds: float = 60, limit: int = 5) -> Lease | None:
    with engine.begin() as connection:
        return leases.lease(connection, visit_id, seconds=seconds, attempts_limit=limit)


def due(engine: Engine) -> list[tuple[UUID, int]]:
    with engine.connect() as connection:
        return [(due.visit_id, due.generation) for due in captures.due(connection, limit=100)]


def wake(engine: Engine, visit_id: UUID) -> None:
    """Let the capture's lease or rest be over."""
    with engine.begin() as connection:
        past = func.now() - timedelta(seconds=1)
        connection.execute(update(capture).where(capture.c.visit_id == visit_id).values(leased_until=past))


def ingest(engine: Engine, visit_id: UUID, generation: int) -> None:
    with engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.visit_id == visit_id).values(ingested=generation))


def finish(connection: Connection, visit_id: UUID, outcome: Outcome) -> None:
    seconds = 5.0 if outcome == Outcome.ANSWERED else None
    assert visits.finish(connection, visit_id, outcome=outcome, detail="", ended_at=NOON, seconds=seconds)


def quarantine_reason(engine: Engine, visit_id: UUID) -> str | None:
    with engine.connect() as connection:
        return connection.scalar(select(capture.c.quarantined).where(capture.c.visit_id == visit_id))
