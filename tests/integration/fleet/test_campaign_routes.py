"""GIVEN campaigns WHEN operators change, stop and resume them over the API THEN the store has what the answer says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from storage import campaigns, coverage
from storage.campaigns import Counted, Definition, EventPlan, State
from storage.schema import Outcome
from tests.integration.api.fetch_answers import problem
from tests.integration.fleet.recorded_visits import VIEWER, Fleet, serving_fleet

pytestmark = pytest.mark.integration
FLEET = "/api/v1/campaigns/fleet"


@pytest.fixture
def client(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    with engine.begin() as connection:
        fleet = Fleet(connection)
        fleet.machine("m1", rack="r1")
        m2 = fleet.machine("m2")
        fleet.visit(m2, 10)
        fleet.visit(m2, 5, ingested=0)
        fleet.visit(m2, 4, Outcome.TIMEOUT)
        fleet.visit(m2, 600, Outcome.LOST)
    with serving_fleet(engine, tmp_path) as made:
        yield made


def stored(engine: Engine, name: str) -> Definition:
    with engine.connect() as connection:
        return campaigns.get(connection, name).definition


def test_a_campaign_with_its_plan_and_its_visits(client: TestClient):
    answer = client.get("/api/v1/campaigns", headers=VIEWER).json()
    (fleet,) = answer["campaigns"]
    assert (fleet["name"], fleet["state"], fleet["draws"]) == ("fleet", "running", True)
    assert (fleet["period_s"], fleet["visits_per_round"], fleet["visit_s"]) == (60.0, 3.0, 5.0)
    assert (fleet["machines"], fleet["strata"]) == (2, 1)
    assert fleet["visits_per_hour"] == 120.0, "a round visits each of the two machines once at most"
    assert fleet["sampled_share"] == pytest.approx(120 * 5 / 3600 / 2)
    assert fleet["last_hour"] == {"answered": 2, "timeout": 1}
    assert fleet["last_day"] == {"answered": 2, "lost": 1, "timeout": 1}
    assert len(fleet["hours"]) == 24
    starts = [hour["start"] for hour in fleet["hours"]]
    assert starts == sorted(starts)
    sums = {key: sum(hour[key] for hour in fleet["hours"]) for key in fleet["hours"][0] if key != "start"}
    assert sums == {"planned": 4, "answered": 2, "ingested": 1, "failed": 1, "lost": 1, "open": 0}
    assert client.get(FLEET).json() == fleet
    assert problem(client.get("/api/v1/campaigns/nothing"), 404)["type"].endswith("unknown-campaign")


def test_omitted_members_keep_their_values(client: TestClient, engine: Engine):
    before = stored(engine, "fleet")
    changed = client.patch(FLEET, json={"visits_per_round": 7, "select_machines": {"rack": "r1"}})
    assert changed.status_code == 200, changed.text
    answer = changed.json()
    assert (answer["created"], answer["changed"], answer["note"]) == (False, True, "")
    assert answer["campaign"]["machines"] == 1
    after = stored(engine, "fleet")
    assert (after.visits_per_round, after.select_machines) == (7, {"rack": "r1"})
    assert (after.period_s, after.events, after.counted) == (before.period_s, before.events, before.counted)
    again = client.patch(FLEET, json={"visits_per_round": 7}).json()
    assert (again["created"], again["changed"]) == (False, False)


def test_a_new_campaign_begins_as_the_default_one(client: TestClient, engine: Engine):
    body = {"duration_s": 2, "rate_hz": 999, "failure_threshold": 0.2, "counted_cgroups": 8}
    answer = client.patch("/api/v1/campaigns/kernel", json=body).json()
    assert (answer["created"], answer["campaign"]["state"]) == (True, "running")
    found = stored(engine, "kernel")
    assert found.events == (EventPlan("cpu", 2000, rate_hz=999.0),)
    assert (found.period_s, found.failure_threshold, found.counted) == (60.0, 0.2, Counted((), 8))
    events = [
        {"event": "page-faults", "duration_ms": 50, "period": 7},
        {"event": "cpu", "duration_ms": 50, "turn": 1},
    ]
    assert client.patch("/api/v1/campaigns/kernel", json={"events": events}).status_code == 200
    assert stored(engine, "kernel").events == (
        EventPlan("page-faults", 50, period=7),
        EventPlan("cpu", 50, turn=1),
    )


def test_another_pace_says_when_it_applies(client: TestClient, engine: Engine):
    with engine.begin() as connection:
        assert campaigns.begin_round(connection, campaigns.get(connection, "fleet").campaign_id, 7)
    assert "from the next full hour on" in client.patch(FLEET, json={"visits_per_round": 9}).json()["note"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"period_s": 0}, "period_s"),
        ({"visits": 3}, "visits"),
        ({"duration_s": 601}, "duration_s"),
        ({"events": [{"event": "Faults", "duration_ms": 1}]}, "those look like page-faults"),
        ({"events": [{"event": "cpu", "duration_ms": 1, "rate_hz": 9, "period": 9}]}, "takes one of them"),
        ({"events": [{"event": "cpu", "duration_ms": 1}], "rate_hz": 9}, "omit the common"),
        ({"select_machines": {"rack": "a\0"}}, "select_machines"),
        ({"counted_events": ["tracepoint:sched"]}, "does not look like tracepoint:sched:sched_switch"),
    ],
)
def test_what_no_gateway_could_carry_out_is_refused(client: TestClient, engine: Engine, body: dict, why: str):
    before = stored(engine, "fleet")
    assert why in problem(client.patch(FLEET, json=body), 422)["detail"]
    assert stored(engine, "fleet") == before


def test_bodies_that_are_none(client: TestClient):
    problem(client.patch(FLEET), 422)
    problem(client.patch(FLEET, content=b"{", headers={"Content-Type": "application/json"}), 422)
    problem(
        client.patch(FLEET, content=b'{"period_s": NaN}', headers={"Content-Type": "application/json"}), 422
    )
    surrogate = json.dumps({"select_machines": {"rack": "\ud800"}})
    problem(client.patch(FLEET, content=surrogate, headers={"Content-Type": "application/json"}), 422)
    problem(client.patch("/api/v1/campaigns/a%20b", json={"period_s": 9}), 422)
    problem(client.patch(FLEET, content=b"x" * 70_000), 413)


def test_stop_and_resume(client: TestClient, engine: Engine):
    stopped = client.post(FLEET + "/stop", json={"why": "maintenance"}).json()
    assert (stopped["changed"], stopped["campaign"]["state"], stopped["campaign"]["why"]) == (
        True,
        "paused",
        "maintenance",
    )
    with engine.connect() as connection:
        assert campaigns.get(connection, "fleet").state == State.PAUSED
    again = client.post(FLEET + "/stop").json()
    assert (again["changed"], again["note"]) == (False, "fleet was paused already.")
    assert client.post(FLEET + "/resume").json()["campaign"]["state"] == "running"
    with engine.connect() as connection:
        assert campaigns.get(connection, "fleet").state == State.RUNNING
    problem(client.post("/api/v1/campaigns/nothing/stop"), 404)
    problem(client.post("/api/v1/campaigns/nothing/resume"), 404)


def test_the_campaign_of_visits_by_hand_has_no_plan_to_change(client: TestClient):
    for method, path in (("PATCH", ""), ("POST", "/resume")):
        response = client.request(method, "/api/v1/campaigns/by-hand" + path, json={"visits_per_round": 1})
        assert problem(response, 409)["type"].endswith("draws-nothing")


def test_the_covered_time_of_the_last_day_is_that_of_rounds(client: TestClient, engine: Engine):
    from datetime import UTC, datetime, timedelta

    now = datetime.now(UTC)
    with engine.begin() as connection:
        campaign_id = campaigns.get(connection, "fleet").campaign_id
        coverage.note_time(connection, campaign_id, now - timedelta(hours=26), now - timedelta(hours=20))
        coverage.note_time(connection, campaign_id, now - timedelta(hours=2), now + timedelta(hours=1))
    assert client.get(FLEET).json()["covered_last_day_s"] == pytest.approx(6 * 3600, abs=120)


def test_every_change_is_logged_with_its_role(client: TestClient):
    with capture_logs() as logs:
        client.patch(FLEET, json={"visits_per_round": 4})
        client.post(FLEET + "/stop", json={"why": "maintenance"})
    changed, stopped = (log for log in logs if log["event"] != "request")
    assert (changed["event"], changed["campaign"]) == ("campaign changed", "fleet")
    assert changed["changes"] == {"visits_per_round": [3.0, 4.0]}
    assert (stopped["state"], stopped["why"]) == ("paused", "maintenance")
    assert {log["by"] for log in (changed, stopped)} == {"operator at testclient"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", FLEET),
        ("POST", FLEET + "/stop"),
        ("POST", FLEET + "/resume"),
        ("POST", "/api/v1/visits"),
    ],
)
def test_viewers_change_nothing(client: TestClient, engine: Engine, method: str, path: str):
    before = stored(engine, "fleet")
    body = {"visits_per_round": 5} if method == "PATCH" else {"machine": "m1"}
    refused = problem(client.request(method, path, json=body, headers=VIEWER), 403)
    assert "needs the role operator" in refused["detail"]
    problem(client.request(method, path, json=body, headers={"Authorization": ""}), 401)
    garbled = {"Authorization": "", "Content-Type": "application/json"}
    problem(client.request(method, path, content=b"{", headers=garbled), 401)
    assert stored(engine, "fleet") == before
    with engine.connect() as connection:
        assert campaigns.get(connection, "fleet").state == State.RUNNING
    foreign = {"Origin": "https://evil.example"}
    problem(client.request(method, path, json=body, headers=foreign), 403)
