"""GIVEN an API WHEN an operator marks a deploy THEN changes list it, until it is removed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient
from typer.testing import CliRunner

from services.api.app import create_app
from services.cli import app as commands
from services.deploys.deploy_service import DeployService
from storage.query.answers.answer import adapter
from storage.query.answers.changes import ChangesAnswer
from storage.query.answers.regressions import RegressionsAnswer
from storage.query.answers.releases import ReleasesAnswer
from storage.query.query_engine import QueryEngine
from tests.access_records import access_of
from tests.integration.api.fetch_answers import BASE, DESIGNED, problem
from tests.integration.api.served import write_fleet

pytestmark = pytest.mark.integration

VIEWER, OPERATOR = ({"Authorization": f"Bearer {letter * 24}"} for letter in "vo")
MARK = {
    "application": "shop",
    "version": "7",
    "at": "2026-11-18T12:10:00Z",
    "text": "new",
    "link": "https://ci.example/7",
}


@pytest.fixture
def client(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    write_fleet(engine)
    queries = QueryEngine(engine)
    access = access_of(tmp_path / "state", [f"viewer:{'v' * 24}", f"operator:{'o' * 24}"])
    app = create_app(queries, access, deploys=DeployService(engine), static=tmp_path)
    with TestClient(app, base_url=BASE) as made:
        yield made
    queries.close()


def _marks(client: TestClient) -> list[dict]:
    answer = client.get("/api/v1/changes", params=DESIGNED, headers=VIEWER).json()
    adapter(ChangesAnswer).validate_python(answer)
    return [one for one in answer["changes"] if one["kind"] == "mark"]


def test_a_mark_is_added_listed_and_removed(client: TestClient):
    made = client.post("/api/v1/deploys", json=MARK, headers=OPERATOR)
    assert made.status_code == 201
    assert made.json() == {**MARK, "deploy_id": 1, "added_by": "operator at testclient"}
    (mark,) = _marks(client)
    assert (mark["application"], mark["label"], mark["value"], mark["time"]) == (
        "shop",
        "version",
        "7",
        MARK["at"],
    )
    assert (mark["text"], mark["link"], mark["deploy_id"]) == (MARK["text"], MARK["link"], 1)
    problem(client.delete("/api/v1/deploys/1", headers=VIEWER), 403)
    assert client.delete("/api/v1/deploys/1", headers=OPERATOR).json() == {"deploy_id": 1}
    assert _marks(client) == []
    assert "1" in problem(client.delete("/api/v1/deploys/1", headers=OPERATOR), 404)["detail"]


def test_only_operators_mark(client: TestClient):
    problem(client.post("/api/v1/deploys", json=MARK), 401)
    problem(client.post("/api/v1/deploys", json=MARK, headers=VIEWER), 403)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"link": "javascript:alert(1)"}, "link"),
        ({"link": "https:///no-host"}, "link"),
        ({"at": "yesterday-ish"}, "at"),
        ({"version": " "}, "version"),
        ({"text": "a\x00b"}, "text"),
        ({"text": "x" * 1001}, "text"),
        ({"colour": "red"}, "colour"),
        ({"application": ""}, "application"),
    ],
)
def test_a_wrong_mark_is_refused_by_name(client: TestClient, wrong: dict, named: str):
    refused = problem(client.post("/api/v1/deploys", json={**MARK, **wrong}, headers=OPERATOR), 422)
    assert named in str(refused)
    assert _marks(client) == []


def test_the_answers_are_what_their_descriptions_say(client: TestClient):
    for route, kind in (("releases", ReleasesAnswer), ("changes", ChangesAnswer)):
        answer = client.get(f"/api/v1/{route}", params=DESIGNED, headers=VIEWER)
        assert answer.status_code == 200, answer.text
        adapter(kind).validate_python(answer.json())
        table = client.get(f"/api/v1/{route}", params={**DESIGNED, "format": "csv"}, headers=VIEWER)
        assert table.status_code == 200, table.text
    problem(client.get("/api/v1/changes", params={**DESIGNED, "labels": "nonsense"}, headers=VIEWER), 400)
    problem(client.get("/api/v1/releases", params={**DESIGNED, "focus": "main"}, headers=VIEWER), 400)


def test_before_the_first_night_the_answer_states_when_it_is(client: TestClient):
    answer = client.get("/api/v1/regressions", headers=VIEWER).json()
    found = adapter(RegressionsAnswer).validate_python(answer)
    assert (found.day, found.computed_at, found.applications, found.days) == (None, None, (), ())
    assert found.because is not None
    assert found.next_run in found.because.detail
    problem(client.get("/api/v1/regressions", params={"day": "tomorrow"}, headers=VIEWER), 422)


def test_the_commands_do_the_same(engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch):
    write_fleet(engine)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    run = CliRunner()
    added = run.invoke(
        commands, ["deploys", "add", "shop", "7", "--at", "2026-11-18T12:10:00Z", "--text", "new"]
    )
    assert added.exit_code == 0, added.output
    assert "Marked deploy 1: shop 7 at 2026-11-18T12:10:00Z." in added.output
    assert "shop" in run.invoke(commands, ["deploys", "list"]).output
    assert "no marks" in run.invoke(commands, ["deploys", "list", "--application", "other"]).output
    assert run.invoke(commands, ["deploys", "remove", "1"]).exit_code == 0
    assert run.invoke(commands, ["deploys", "remove", "1"]).exit_code != 0
    night = run.invoke(commands, ["regressions", "run", "--day", "2026-11-18"])
    assert night.exit_code == 0, night.output
    assert "2026-11-18:" in night.output
    assert run.invoke(commands, ["regressions", "run", "--day", "2026-11-18"]).exit_code == 1
