"""GIVEN a route WHEN its query string says what the route does not take THEN nothing is answered as if it had not."""

from collections.abc import Iterator
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Query, Request
from starlette.testclient import TestClient

from services.api import problems
from services.api.query_string import only_what_is_taken


async def _shared(start: Annotated[str, Query(alias="from")] = "now-1h") -> str:
    return start


@pytest.fixture
def client() -> Iterator[TestClient]:
    app = FastAPI(dependencies=[Depends(only_what_is_taken)])
    problems.install(app)

    @app.middleware("http")
    async def name(request: Request, call_next):
        request.state.request_id = "1"
        return await call_next(request)

    described = {"name": "format", "in": "query", "schema": {"type": "string"}}

    @app.get("/rows/{key}", openapi_extra={"parameters": [described]})
    async def rows(
        key: str,
        start: Annotated[str, Depends(_shared)],
        limit: int,
        digest: Annotated[list[str], Query(default_factory=list)],
    ) -> list[object]:
        return [key, start, limit, digest]

    @app.get("/nothing")
    async def nothing() -> int:
        return 0

    @app.get("/page", include_in_schema=False)
    async def page() -> int:
        return 1

    with TestClient(app) as made:
        yield made


def _refused(client: TestClient, path: str) -> dict[str, str]:
    response = client.get(path)
    assert response.status_code == 422
    document: dict[str, str] = response.json()
    assert document["type"] == "urn:fleetprof:problem:bad-parameter"
    return document


def test_what_a_route_its_dependencies_and_its_description_name_is_taken(client: TestClient) -> None:
    answer = client.get("/rows/a?limit=3&from=now-2h&format=csv&digest=1&digest=2")
    assert answer.json() == ["a", "now-2h", 3, ["1", "2"]]


def test_a_name_that_is_nearly_one_is_told_with_the_one_meant(client: TestClient) -> None:
    # Not that `limit` is missing, which follows from it.
    document = _refused(client, "/rows/a?limt=3")
    assert document["detail"] == "/rows/{key} has no parameter 'limt'."
    assert document["hint"] == "Did you mean limit?"
    assert document["parameter"] == "limt"
    assert _refused(client, "/rows/a?limit=3&FRM=now")["hint"] == "Did you mean from?"


def test_a_name_like_none_is_told_with_all_there_are(client: TestClient) -> None:
    assert _refused(client, "/rows/a?limit=3&zzz=")["hint"] == "Parameters: digest, format, from, limit."
    assert _refused(client, "/rows/a?limit=3&fmt=")["hint"].startswith("Parameters: ")
    assert _refused(client, "/nothing?zzz=")["hint"] == "Parameters: none."


def test_a_parameter_of_the_path_or_by_its_name_in_the_program_is_none_of_the_query(
    client: TestClient,
) -> None:
    assert _refused(client, "/rows/a?limit=3&key=b")["parameter"] == "key"
    assert _refused(client, "/rows/a?limit=3&start=now-2h")["parameter"] == "start"


def test_what_is_taken_once_cannot_be_given_twice(client: TestClient) -> None:
    document = _refused(client, "/rows/a?limit=3&limit=4")
    assert document["parameter"] == "limit"
    assert "given twice" in document["detail"]
    assert "given 3 times" in _refused(client, "/rows/a?limit=3&limit=3&limit=3")["detail"]


def test_a_long_or_strange_name_is_told_in_short(client: TestClient) -> None:
    document = _refused(client, f"/nothing?{'x' * 5000}%00=1")
    assert len(document["parameter"]) < 100
    assert len(document["detail"]) < 200


def test_a_page_keeps_its_state_in_its_query_string(client: TestClient) -> None:
    assert client.get("/page?view=flame&view=flame").json() == 1
