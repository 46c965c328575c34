"""What the API says of questions without an answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from services.api.auth import Access
from storage.database import open_engine
from storage.query.query_engine import QueryEngine
from tests.integration.api.fetch_answers import BASE, BEARER, RANGE, problem
from tests.integration.api.served import calling, of_a_stranger, write_samples

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def shared(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One app for all tests here: they only read."""
    write_samples(module_engine)
    with calling(module_engine, tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def anyone(shared: TestClient) -> TestClient:
    return of_a_stranger(shared)


@pytest.mark.slow
def test_a_mistake_in_a_pattern_has_a_position(client: TestClient):
    document = problem(client.get("/api/v1/flame", params={"show_from": "main|x**"}), 400)
    assert (document["parameter"], document["at"]) == ("show_from", 6)
    of_base = {"base_from": "now-2h", "base_to": "now-1h", "base_select": '{app="a"'}
    document = problem(client.get("/api/v1/diff", params=of_base), 400)
    assert (document["parameter"], document["at"]) == ("base_select", 8)


def test_a_mistake_in_the_matchers_has_a_position(client: TestClient):
    document = problem(client.get("/api/v1/table", params={"select": '{application="a" x}'}), 400)
    assert (document["parameter"], document["at"]) == ("select", 17)
    assert document["type"] == "urn:fleetprof:problem:bad-selection"
    assert "comma" in document["detail"]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"from": "yesterday"}, 400, "Invalid time"),
        ({"from": "2026-11-21T11:00:00"}, 400, "no time zone"),
        ({"from": "now", "to": "now-1h"}, 400, "empty"),
        ({"focus": "("}, 400, "not valid"),
        ({"select": '{a=~"(x+x+)+y\\\\1"}'}, 400, "not valid"),
        ({"event": "nothing"}, 400, "Unknown event"),
        ({"by": "function,function"}, 400, "different keys"),
        ({"campaign": "nobody"}, 404, "no campaign"),
        ({"limit": "0"}, 422, "limit"),
        ({"limit": "100000"}, 422, "limit"),
        ({"sort": "-shoe-size"}, 422, "sort"),
        ({"select": "{" + "x" * 5000}, 422, "select"),
        ({"select": "\0"}, 400, "NUL character at character 1"),
        ({"campaign": "\0"}, 400, "NUL"),
        ({"by": "\0"}, 400, "NUL"),
        ({"by": "function,"}, 400, "name of a label is empty"),
        ({"by": "taem"}, 400, "No profile has a label 'taem'"),
        ({"by": "self.function"}, 400, "is not a label of a profile"),
    ],
)
def test_problems_say_what_to_change(client: TestClient, query: dict, status: int, said: str):
    document = problem(client.get("/api/v1/table", params={**RANGE, **query}), status)
    assert said in document["detail"]


_WORDS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "0", "-1", "now", "now-1d", "{}", '{machine=~"m.*"}', "function", "machine,file", "a" * 300]
    ),
)


_NAMES = (
    "event",
    "unit",
    "from",
    "to",
    "select",
    "campaign",
    "focus",
    "ignore",
    "hide",
    "show",
    "show_from",
    "by",
    "sort",
    "limit",
    "offset",
    "find",
    "nodes",
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from(["table", "flame", "labels", "diff", "reliability"]),
    query=st.dictionaries(st.sampled_from(_NAMES), _WORDS, max_size=4),
)
def test_no_question_is_our_mistake(client: TestClient, route: str, query: dict[str, str]):
    response = client.get(f"/api/v1/{route}", params=query)
    assert response.status_code in {200, 400, 404, 422}
    if response.status_code != 200:
        problem(response, response.status_code)


def test_what_is_not_there_and_what_is_not_allowed(client: TestClient):
    assert "openapi.json" in problem(client.get("/api/v1/nothing"), 404)["hint"]
    problem(client.post("/api/v1/table"), 405)


def test_a_body_is_refused_before_it_is_read(client: TestClient):
    problem(client.request("GET", "/api/v1/status", content=b"x" * 100_000), 413)


def test_a_database_that_does_not_answer_is_a_passing_problem(access: Access, static: Path):
    engine = open_engine("postgresql://unused@/nothing?host=/nonexistent", application="test")
    queries = QueryEngine(engine)
    with TestClient(create_app(queries, access, static=static), base_url=BASE, headers=BEARER) as client:
        response = client.get("/api/v1/table")
        problem(response, 503)
        assert response.headers["retry-after"] == "2"
        refused = client.get("/readyz", headers={"Authorization": ""})
        problem(refused, 503)
        assert "nonexistent" not in refused.text, "its caller proves nothing"
        assert problem(client.get("/readyz"), 503)["type"] == "urn:fleetprof:problem:database"
        assert client.get("/healthz").status_code == 200
        assert "fleetprof_database_up 0.0" in client.get("/metrics").text
    queries.close()
    engine.dispose()


def test_a_mistake_of_ours_is_a_problem_document_too(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(QueryEngine, "ask", lambda self, question: 1 / 0)
    document = problem(client.get("/api/v1/status"), 500)
    assert "division" not in document["detail"]
