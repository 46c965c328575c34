"""A database's condition, as `fleetprof doctor` asks for it."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine, update

from gateway.doctor.findings import Grade
from services.configuration.settings import Settings
from services.diagnostics.server_checks import examine_server
from storage import campaigns, inventory, visits
from storage.campaigns import Definition, EventPlan
from storage.database_health import LARGE_SKEW_S, Skews, condition, skews
from storage.inventory import NewMachine
from storage.schema import visit
from storage.visits import DrawnVisit

pytestmark = pytest.mark.integration


def test_a_migrated_database_lacks_nothing_and_has_our_clock(engine: Engine):
    with engine.connect() as connection:
        found = condition(connection)
    assert found.version >= 140_000
    assert found.lacking == ()
    assert abs(found.clock_skew_s) < 5
    with engine.connect() as connection:
        assert skews(connection) == Skews(0, 0, 0.0)


def test_clocks_of_machines_count_by_their_last_days_visits(engine: Engine):
    now = datetime.now(UTC)
    told = [(0.2, now), (-3.0, now), (LARGE_SKEW_S + 60, now), (-900.0, now - timedelta(days=2)), (None, now)]
    with engine.begin() as connection:
        machine = inventory.add(connection, NewMachine("m1", "unix:/run/gateway.sock"), replace=True)
        stratum = inventory.stratum_ids(connection, [("dc", "Zen")])["dc", "Zen"]
        fleet = Definition(
            "fleet", period_s=60, visits_per_round=1.5, events=(EventPlan("cpu", 5000, rate_hz=99),)
        )
        campaign = campaigns.create_or_update(connection, fleet).campaign_id
        for skew, started in told:
            drawn = DrawnVisit(
                visit_id=uuid4(),
                campaign_id=campaign,
                round=1,
                machine_id=machine,
                stratum_id=stratum,
                population=10,
                drawn=1,
                probability=0.1,
                drawn_at=started,
            )
            visits.record_draw(connection, [drawn])
            visits.begin(connection, drawn.visit_id, started)
            connection.execute(
                update(visit).where(visit.c.visit_id == drawn.visit_id).values(clock_skew_s=skew)
            )
        assert skews(connection) == Skews(3, 1, LARGE_SKEW_S + 60)


def test_the_doctor_finds_servers_that_run_fine(database_url: str, valkey_url: str, tmp_path):
    settings = Settings(database_url=database_url, redis_url=valkey_url, state_dir=tmp_path)
    found = {finding.subject: finding.grade for finding in examine_server(settings)}
    assert {found[subject] for subject in ("database", "schema", "clock", "broker")} == {Grade.FINE}
