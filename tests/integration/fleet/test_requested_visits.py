"""GIVEN a running collector WHEN an operator requests a visit THEN it is made, and counts in no figure of the fleet."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select, update
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from collector import requested_visits
from collector.lease import Lease
from storage import campaigns, collector_leases, inventory, partitions
from storage.archive import Archive
from storage.campaigns import Definition, EventPlan, State
from storage.inventory import NewMachine
from storage.schema import BY_HAND, coverage, visit, visit_request
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester
from tests import fake_gateways
from tests.fake_gateways import serving
from tests.integration.api.fetch_answers import problem
from tests.integration.collector.running_collector import a_collector, define, eventually, running
from tests.integration.fleet.recorded_visits import serving_fleet

pytestmark = pytest.mark.integration
VISITS = "/api/v1/visits"
QUIET = Definition("fleet", 60.0, 0.0, (EventPlan("cpu", 50, rate_hz=99),))
"""Draws no visits."""


@pytest.fixture
def client(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    with serving_fleet(engine, tmp_path) as made:
        yield made


@pytest.fixture
def sockets(server_directory: Path) -> Path:
    folder = server_directory / f"sockets-{uuid4().hex[:8]}"
    folder.mkdir()
    return folder


@pytest.fixture
def lease(engine: Engine) -> Lease:
    """Of a collector that a test acts for."""
    made = Lease(engine, 20.0)
    made.renew()
    with engine.begin() as connection:
        partitions.ensure(connection, [datetime.now(UTC).date()])
    return made


def add(engine: Engine, *names: str) -> None:
    with engine.begin() as connection:
        for name in names:
            inventory.add(connection, NewMachine(name, "unix:/nonexistent"))


def progress(client: TestClient, requested: dict) -> dict:
    (found,) = client.get(requested["progress"]).json()["visits"]
    return found


def test_a_requested_visit_from_the_request_to_its_table(client, engine, archive: Archive, sockets, tmp_path):
    sent: list[UUID] = []
    with serving(sockets / "g") as gateway:
        define(engine, QUIET, NewMachine("m1", gateway.address, datacenter="dc"))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: _running(engine))
            response = client.post(VISITS, json={"machine": "m1", "duration_s": 0.05})
            assert response.status_code == 202, response.text
            requested = response.json()
            assert (requested["machine"], requested["campaign"], requested["event"]) == (
                "m1",
                "by-hand",
                "cpu",
            )
            ended = eventually(lambda: (found := progress(client, requested))["ended_at"] and found)
            eventually(lambda: sent)
    assert (ended["outcome"], ended["ingestion"], ended["samples"]) == ("answered", "waiting", 7), ended
    assert ended["requested_by"] == "operator at testclient"
    (plan,) = gateway.plans
    assert (plan.campaign, plan.events[0].event, plan.events[0].duration_ms, plan.events[0].rate_hz) == (
        "by-hand", "cpu", 50, 99.0,
    )  # fmt: skip
    assert [str(one) for one in sent] == [requested["visit_id"]]
    ingester = Ingester(engine, archive, Resolver(LocalFiles(), tmp_path / "cache"))
    ingester.ingest(UUID(requested["visit_id"]))
    assert progress(client, requested)["ingestion"] == "ingested"
    moment = datetime.fromisoformat(ended["planned_at"])
    selection = {
        "campaign": "by-hand",
        "select": '{machine="m1"}',
        "from": moment.isoformat(),
        "to": (moment + timedelta(microseconds=1)).isoformat(),
    }
    totals = client.get("/api/v1/table", params=selection).json()["totals"]
    assert (totals["samples"], totals["design"]) == (7, "none")
    of_fleet = client.get("/api/v1/table", params=selection | {"campaign": "fleet"}).json()["totals"]
    assert (of_fleet["samples"], of_fleet["visits_drawn"]) == (0, 0)
    with engine.connect() as connection:
        row = connection.execute(select(visit)).one()
        assert (row.round, row.probability, row.population) == (BY_HAND, 0.0, 0)
        assert connection.scalar(select(func.coalesce(func.sum(coverage.c.drawn), 0))) == 0
        assert campaigns.get(connection, "by-hand").state == State.PAUSED


def test_a_failure_is_shown_with_its_reason(client, engine, archive, sockets):
    def refuses(_plan, _context):
        yield fake_gateways.refusal(
            fake_gateways.gateway_pb2.Refusal.NOT_ALLOWED, "the operator allows 49 Hz"
        )

    with serving(sockets / "g", refuses) as gateway:
        define(engine, QUIET, NewMachine("m1", gateway.address))
        with running(a_collector(engine, archive, lambda _: None)):
            eventually(lambda: _running(engine))
            requested = client.post(VISITS, json={"machine": "m1", "duration_s": 0.05}).json()
            ended = eventually(lambda: (found := progress(client, requested))["ended_at"] and found)
    assert (ended["outcome"], ended["detail"]) == ("refused", "NOT_ALLOWED: the operator allows 49 Hz")
    with engine.connect() as connection:
        assert connection.execute(select(coverage).where(coverage.c.drawn != 0)).all() == []


def test_who_cannot_be_visited_is_said(client, engine, lease):
    add(engine, "web-1", "web-2")
    with engine.begin() as connection:
        inventory.set_enabled(connection, "web-2", False)
    unknown = problem(client.post(VISITS, json={"machine": "web-3"}), 404)
    assert "Did you mean" in unknown["hint"]
    disabled = problem(client.post(VISITS, json={"machine": "web-2"}), 409)
    assert ("is disabled" in disabled["detail"], "machines enable web-2" in disabled["hint"]) == (True, True)
    assert client.post(VISITS, json={"machine": "web-1"}).status_code == 202
    assert "has not ended" in problem(client.post(VISITS, json={"machine": "web-1"}), 409)["detail"]
    problem(client.post(VISITS, json={"machine": "web-1", "event": "Faults"}), 422)
    problem(client.post(VISITS, json={"machine": "web-1", "duration_s": 3600}), 422)
    problem(client.post(VISITS, json={}), 422)
    with engine.begin() as connection:
        collector_leases.release(connection, lease.collector_id)
    away = client.post(VISITS, json={"machine": "web-1"})
    assert problem(away, 503)["detail"].startswith("No collector runs")
    assert away.headers["retry-after"] == "10"
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(visit)) == 1, "a refusal leaves no row"


def test_a_request_is_logged_with_its_role(client, engine, lease):
    add(engine, "m1")
    with capture_logs() as logs:
        requested = client.post(VISITS, json={"machine": "m1"}).json()
    (log,) = (log for log in logs if log["event"] == "visit requested")
    assert (log["by"], log["machine"], log["visit_id"]) == (
        "operator at testclient",
        "m1",
        requested["visit_id"],
    )


def test_no_more_than_the_collector_can_begin_in_time(client, engine, lease):
    names = [f"m{number}" for number in range(21)]
    add(engine, *names)
    for name in names[:20]:
        assert client.post(VISITS, json={"machine": name}).status_code == 202
    assert "the limit is 20" in problem(client.post(VISITS, json={"machine": "m20"}), 409)["detail"]


def test_one_collector_takes_each_request_once(client, engine, lease):
    add(engine, "m1")
    body = {"machine": "m1", "event": "page-faults", "period": 97, "duration_s": 1}
    requested = client.post(VISITS, json=body).json()
    (taken,) = requested_visits.claim(engine, lease)
    assert str(taken.visit_id) == requested["visit_id"]
    assert taken.campaign.definition.events == (EventPlan("page-faults", 1000, period=97),)
    assert taken.machine.name == "m1"
    assert requested_visits.claim(engine, lease) == []
    other = Lease(engine, 20.0)
    assert requested_visits.claim(engine, other) == []
    with engine.connect() as connection:
        assert connection.scalar(select(visit.c.collector_id)) == lease.collector_id, (
            "so its visit ends as lost if this collector ends"
        )


def test_a_request_that_waited_too_long_or_lost_its_machine_is_not_made(client, engine, lease):
    add(engine, "late", "gone")
    late = client.post(VISITS, json={"machine": "late"}).json()
    gone = client.post(VISITS, json={"machine": "gone"}).json()
    with engine.begin() as connection:
        connection.execute(
            update(visit_request)
            .where(visit_request.c.visit_id == UUID(late["visit_id"]))
            .values(requested_at=func.now() - timedelta(seconds=61))
        )
        inventory.remove(connection, "gone")
    assert requested_visits.claim(engine, lease) == []
    assert progress(client, late)["detail"] == "No collector took the request within 60 s."
    assert progress(client, gone)["detail"].startswith("The machine was removed")
    assert {progress(client, one)["outcome"] for one in (late, gone)} == {"lost"}


def _running(engine: Engine) -> bool:
    with engine.connect() as connection:
        return collector_leases.running(connection)
