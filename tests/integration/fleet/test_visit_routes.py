"""GIVEN visits in every state WHEN they are requested THEN each has its state, and pages miss and repeat none."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from storage.schema import Outcome
from tests.integration.api.fetch_answers import problem
from tests.integration.fleet.recorded_visits import VIEWER, Fleet, serving_fleet

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def client(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with module_engine.begin() as connection:
        fleet = Fleet(connection)
        one, two = fleet.machine("one"), fleet.machine("two")
        fleet.visit(one, 60)
        fleet.visit(one, 50, ingested=0, ingested_at=None)
        fleet.visit(
            one, 40, ingested=0, ingested_at=None, quarantined="It is damaged.", failure="It is damaged."
        )
        fleet.visit(one, 35, ingested=0, ingested_at=None, expired=True)
        fleet.visit(two, 30, Outcome.UNREACHABLE, detail="No connection.", utilisation=None)
        fleet.visit(two, 30, Outcome.GARBAGE)
        fleet.visit(two, -0.2, Outcome.DRAWN)
    with serving_fleet(module_engine, tmp_path_factory.mktemp("api")) as made:
        made.headers.update(VIEWER)
        yield made


def visits(client: TestClient, **parameters: object) -> list[dict]:
    response = client.get("/api/v1/visits", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()["visits"]


def test_newest_first_with_the_state_of_each_capture(client: TestClient):
    found = visits(client)
    assert [(each["machine"], each["outcome"], each["ingestion"]) for each in found[:1]] == [
        ("two", "drawn", None)
    ]
    assert {each["outcome"] for each in found[1:3]} == {"unreachable", "garbage"}
    assert [(each["outcome"], each["ingestion"]) for each in found[3:]] == [
        ("answered", "expired"),
        ("answered", "quarantined"),
        ("answered", "waiting"),
        ("answered", "ingested"),
    ]
    assert found[4]["ingestion_detail"] == "It is damaged."
    last = found[-1]
    assert (last["samples"], last["bytes"], last["duration_s"], last["sampled_s"]) == (77, 1234, 6.0, 5.0)
    assert last["requested_by"] is None
    assert last["planned_at"] < last["ended_at"] < last["ingested_at"]
    assert (found[0]["started_at"], found[0]["duration_s"]) == (None, None)


def test_conditions(client: TestClient):
    assert len(visits(client, machine="one")) == 4
    assert len(visits(client, campaign="fleet")) == 7
    assert [each["detail"] for each in visits(client, outcome="unreachable")] == ["No connection."]
    assert len(visits(client, outcome=["unreachable", "garbage"], machine="two")) == 2
    assert len(visits(client, **{"from": "now-45m"}, to="now-33m")) == 2
    (first,) = visits(client, limit=1)
    assert visits(client, visit_id=first["visit_id"]) == [first]
    assert visits(client, visit_id=str(uuid4())) == []


@pytest.mark.parametrize("conditions", [{}, {"machine": "two"}, {"campaign": "fleet"}])
def test_pages_miss_and_repeat_none(client: TestClient, conditions: dict[str, str]):
    whole = visits(client, **conditions)
    paged, before = [], ""
    while True:
        page = client.get("/api/v1/visits", params={"limit": 1, "before": before, **conditions}).json()
        paged += page["visits"]
        if page["next"] is None:
            break
        before = page["next"]
    assert paged == whole


def test_mistakes(client: TestClient):
    assert problem(client.get("/api/v1/visits?machine=onee"), 404)["hint"] == "Did you mean one?"
    assert problem(client.get("/api/v1/visits?campaign=nothing"), 404)["type"].endswith("unknown-campaign")
    assert problem(client.get("/api/v1/visits?before=x"), 400)["parameter"] == "before"
    problem(client.get("/api/v1/visits?before=999999999999999999-" + str(uuid4())), 400)
    assert problem(client.get("/api/v1/visits?from=yesterday"), 400)["parameter"] == "from"
    problem(client.get("/api/v1/visits?outcome=good"), 422)
