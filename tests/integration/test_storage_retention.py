"""Raw captures go with their profiles, blob and rows, and nothing else does."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select

from storage import campaigns, captures, inventory, retention, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.schema import capture, capture_cpu, visit
from storage.visits import DrawnVisit, Outcome

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def archived(engine: Engine, archive: Archive) -> list[UUID]:
    """Captures of five days, the oldest first."""
    ids = []
    with engine.begin() as connection:
        definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign_id = campaigns.create_or_update(connection, definition).campaign_id
        machine_id = inventory.add(connection, NewMachine("m", "h:1"))
        stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
        for age in range(4, -1, -1):
            drawn = DrawnVisit(
                uuid4(), campaign_id, 5 - age, machine_id, stratum_id, 1, 1, 1.0, NOON - timedelta(days=age)
            )
            visits.record_draw(connection, [drawn])
            key = capture_key(drawn.day, drawn.visit_id)
            archive.put(key, b"blob")
            captures.record(connection, NewCapture(drawn.visit_id, drawn.day, key, 4, 4, b"", 1))
            visits.finish(
                connection, drawn.visit_id, outcome=Outcome.ANSWERED, detail="", ended_at=NOON, seconds=5.0
            )
            connection.execute(
                capture_cpu.insert().values(
                    visit_id=drawn.visit_id,
                    cpu=0,
                    day=drawn.day,
                    user_ms=1,
                    system_ms=1,
                    idle_ms=1,
                    iowait_ms=1,
                    irq_ms=1,
                    steal_ms=1,
                )
            )
            ids.append(drawn.visit_id)
    return ids


def drop(engine: Engine, archive: Archive, limit: int = 500) -> int:
    with engine.begin() as connection:
        return retention.drop_captures(connection, archive, NOON.date() - timedelta(days=1), limit=limit)


def test_old_captures_go_whole_and_their_visits_stay(engine, archive, archived):
    assert drop(engine, archive) == 3
    assert drop(engine, archive) == 0
    with engine.connect() as connection:
        for table in (capture, capture_cpu):
            assert set(connection.scalars(select(table.c.visit_id))) == set(archived[3:])
        assert connection.scalar(select(func.count()).select_from(visit)) == 5
    assert {key.split("/")[1] for key, _ in archive.keys()} == {"2026-11-20", "2026-11-21"}  # noqa: SIM118 - no dict


def test_the_oldest_go_first(engine, archive, archived):
    assert drop(engine, archive, limit=2) == 2
    with engine.connect() as connection:
        assert set(connection.scalars(select(capture.c.visit_id))) == set(archived[2:])


def test_a_crash_after_the_blobs_is_made_good_by_the_next_call(engine, archive, archived):
    with engine.connect() as connection:
        retention.drop_captures(connection, archive, NOON.date() - timedelta(days=1))
        connection.rollback()
    assert drop(engine, archive) == 3
    with engine.connect() as connection:
        assert set(connection.scalars(select(capture.c.visit_id))) == set(archived[3:])


def test_what_a_worker_holds_is_left_for_the_next_call(engine, archive, archived):
    with engine.begin() as worker:
        worker.execute(select(capture).where(capture.c.visit_id == archived[0]).with_for_update())
        assert drop(engine, archive) == 2
    assert drop(engine, archive) == 1
