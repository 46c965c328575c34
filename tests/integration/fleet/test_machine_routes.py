"""GIVEN an inventory with visits WHEN its machines are requested THEN their states and last visits are right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from storage import inventory
from storage.machine_selection import is_selected, selecting
from storage.schema import Outcome, machine
from tests.integration.api.fetch_answers import problem
from tests.integration.fleet.recorded_visits import VIEWER, Fleet, serving_fleet

pytestmark = pytest.mark.integration
LOST = "The collector ended before the visit did."


@pytest.fixture(scope="module")
def client(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for all tests here: they only read."""
    with module_engine.begin() as connection:
        fleet = Fleet(connection)
        web, down, odd = fleet.machine("web-1", rack="r12"), fleet.machine("web-2"), fleet.machine("100%_odd")
        fleet.machine("new-1", described=False)
        disabled = fleet.machine("off-1", cpus=64)
        inventory.set_enabled(connection, "off-1", False)
        gone = fleet.machine("gone-1")
        fleet.visit(web, 3000, Outcome.FAILED, detail="old")
        fleet.visit(web, 90, Outcome.TIMEOUT, detail="slow", utilisation=0.9)
        fleet.visit(web, 30, utilisation=0.25)
        fleet.visit(web, 20, Outcome.LOST, detail=LOST, utilisation=None)
        fleet.visit(web, -0.5, Outcome.DRAWN)
        fleet.visit(down, 60, utilisation=1.0)
        fleet.visit(
            down, 10, Outcome.REFUSED, detail="TOO_MANY: one capture is being taken", utilisation=None
        )
        fleet.visit(down, 5, Outcome.REFUSED, detail="TOO_MANY: one capture is being taken", utilisation=None)
        fleet.visit(odd, 15)
        fleet.visit(disabled, 5, Outcome.UNREACHABLE, utilisation=None)
        fleet.visit(gone, 5)
        inventory.remove(connection, "gone-1")
    with serving_fleet(module_engine, tmp_path_factory.mktemp("api")) as made:
        made.headers.update(VIEWER)
        yield made


def names(client: TestClient, **parameters: object) -> list[str]:
    response = client.get("/api/v1/machines", params=parameters)
    assert response.status_code == 200, response.text
    return [each["name"] for each in response.json()["machines"]]


def test_each_machine_has_its_state_and_last_visit(client: TestClient):
    answer = client.get("/api/v1/machines").json()
    assert answer["counts"] == {"all": 5, "ok": 2, "failing": 1, "never_visited": 1, "disabled": 1}
    assert answer["matching"] == 5
    rows = {row["name"]: row for row in answer["machines"]}
    assert list(rows) == ["100%_odd", "new-1", "off-1", "web-1", "web-2"], "a removed machine is not listed"
    web = rows["web-1"]
    assert web["state"] == "ok", "neither a lost visit nor one still to come says anything about it"
    assert (web["last_visit"]["outcome"], web["last_visit"]["campaign"]) == ("answered", "fleet")
    assert (web["visits_last_day"], web["failures_last_day"]) == (2, 1)
    assert (web["utilisation"], web["logical_cpus"], web["busy_cores"]) == (0.25, 8, 2.0)
    assert web["labels"] == {"rack": "r12", "zone": "a"}, "the operator's labels come before the gateway's"
    down = rows["web-2"]
    assert (down["state"], down["failures_last_day"], down["busy_cores"]) == ("failing", 2, 8.0)
    assert down["last_visit"]["detail"] == "TOO_MANY: one capture is being taken"
    new = rows["new-1"]
    assert (new["state"], new["last_visit"], new["busy_cores"], new["platform"]) == (
        "never_visited",
        None,
        None,
        "",
    )
    assert rows["off-1"]["state"] == "disabled"


@pytest.mark.parametrize(
    ("find", "found"),
    [
        ("WEB-", ["web-1", "web-2"]),
        ("rack=r12", ["web-1"]),
        ("zone=a", ["100%_odd", "off-1", "web-1", "web-2"]),
        ("rack=from", ["100%_odd", "off-1", "web-2"]),
        ("%_", ["100%_odd"]),
        ("6.18", ["100%_odd", "off-1", "web-1", "web-2"]),
        ("nothing", []),
    ],
)
def test_find_looks_into_names_fields_and_labels(client: TestClient, find: str, found: list[str]):
    assert names(client, find=find) == found


def test_states_sorts_and_pages(client: TestClient):
    assert names(client, state="failing") == ["web-2"]
    assert names(client, state="never_visited") == ["new-1"]
    assert names(client, state="disabled", find="web-") == []
    assert names(client, sort="busy_cores", order="desc") == ["web-2", "100%_odd", "web-1", "new-1", "off-1"]
    assert names(client, sort="busy_cores")[:3] == ["web-1", "100%_odd", "web-2"]
    assert names(client, sort="last_visit", order="desc") == ["off-1", "web-2", "100%_odd", "web-1", "new-1"]
    assert names(client, sort="failures", order="desc")[0] == "web-2"
    assert names(client, sort="visits", order="desc")[:2] == ["web-2", "web-1"]
    assert names(client, sort="cpus", order="desc")[0] == "off-1"
    assert names(client, limit=2, offset=1) == ["new-1", "off-1"]
    assert client.get("/api/v1/machines?limit=1&state=ok").json()["matching"] == 2
    problem(client.get("/api/v1/machines?sort=height"), 422)


def test_the_list_has_other_formats(client: TestClient):
    lines = client.get("/api/v1/machines?format=csv").text.splitlines()
    assert lines[0].startswith('"name","datacenter","cluster","platform"')
    assert len(lines) == 6


def test_one_machine_has_its_system_its_visits_and_its_failures(client: TestClient):
    found = client.get("/api/v1/machines/web-2").json()
    assert (found["address"], found["system"]["os"], found["system"]["numa_nodes"]) == (
        "web-2.example:7071",
        "Debian 12",
        2,
    )
    assert found["system"]["packages"] is None, "0 means not known"
    assert [(each["event"], each["use"]) for each in found["events"]] == [
        ("cpu", "sampled"),
        ("cycles", "none"),
    ]
    assert found["outcomes_last_day"] == {"refused": 2, "answered": 1}
    (failure,) = found["failures"]
    assert (failure["outcome"], failure["visits"]) == ("refused", 2)
    assert [each["outcome"] for each in found["visits"]] == ["refused", "refused", "answered"]
    assert found["load"] is None
    assert client.get("/api/v1/machines/web-1").json()["outcomes_last_week"]["failed"] == 1
    never = client.get("/api/v1/machines/new-1").json()
    assert (never["described_at"], never["visits"], never["system"]["hostname"]) == (None, [], "")


def test_an_unknown_machine_is_answered_with_similar_names(client: TestClient):
    document = problem(client.get("/api/v1/machines/web-3"), 404)
    assert document["type"].endswith("unknown-machine")
    assert document["hint"] in {"Did you mean web-2 or web-1?", "Did you mean web-1 or web-2?"}
    assert "lists the machines" in problem(client.get("/api/v1/machines/%00"), 404)["hint"]
    problem(client.get("/api/v1/machines/gone-1"), 404)
    assert len(client.get("/api/v1/visits?machine=gone-1").json()["visits"]) == 1, "its visits stay"


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"rack": "r12"},
        {"rack": "from-gateway", "zone": "a"},
        {"kernel": "6.18.1"},
        {"machine": "web-1"},
        {"zone": "b"},
    ],
)
def test_the_count_of_selected_machines_is_that_of_the_draw(
    client: TestClient, module_engine: Engine, wanted: dict[str, str]
):
    with module_engine.connect() as connection:
        drawn = {m.name for m in inventory.machines(connection) if is_selected(m, wanted)}
        rows = connection.execute(
            machine.select().where(machine.c.enabled, machine.c.removed_at.is_(None), *selecting(wanted))
        )
        assert {row.name for row in rows} == drawn


def test_a_hundred_machines_take_no_query_each(client: TestClient, module_engine: Engine, tmp_path: Path):
    from sqlalchemy import event

    statements: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(module_engine, "before_cursor_execute", note)
    try:
        names(client, sort="busy_cores", limit=1000)
    finally:
        event.remove(module_engine, "before_cursor_execute", note)
    assert len(statements) < 10
