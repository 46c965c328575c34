"""What a browser may keep of an answer, and for how long."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api import sessions
from services.api.sessions import SESSION_HEADER
from tests.fact_writer import FactWriter
from tests.integration.api.fetch_answers import problem
from tests.integration.api.served import calling
from tests.integration.api.test_access_control import signed_in

pytestmark = pytest.mark.integration


def at(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds").replace("+00:00", "Z")


@pytest.fixture
def closed(engine: Engine) -> dict[str, str]:
    """A range that ended three days ago, with a sample."""
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("main", binary="prog", file="m.c")])
        write.profile(
            write.visit("m1", datetime.now(UTC) - timedelta(days=3, hours=1)),
            {stack: 5},
            labels={"application": "prog"},
        )
    return {"from": at(4), "to": at(3)}


@pytest.fixture
def reader(engine: Engine, tmp_path: Path) -> Iterator[TestClient]:
    with calling(engine, tmp_path) as client:
        client.headers.update(signed_in(client, tmp_path))
        yield client


def test_answers_of_closed_ranges_may_be_kept(client: TestClient, closed: dict[str, str]):
    for route, more in (
        ("table", {}),
        ("table", {"format": "csv"}),
        ("flame", {"format": "columns"}),
        ("labels", {}),
        ("search", {"q": "m"}),
        ("analysis/ratios", {}),
    ):
        response = client.get(f"/api/v1/{route}", params={**closed, **more})
        assert response.headers["cache-control"] == "private, max-age=3600"
        vary = response.headers["vary"].split(", ")
        assert {"Accept", "Accept-Encoding", "Authorization", SESSION_HEADER} <= set(vary)
        again = client.get(
            f"/api/v1/{route}",
            params={**closed, **more},
            headers={"If-None-Match": response.headers["etag"]},
        )
        assert (again.status_code, again.headers["cache-control"]) == (304, "private, max-age=3600")


def test_other_answers_may_not(client: TestClient, closed: dict[str, str]):
    open_ = (
        ("table", {}),
        ("table", {**closed, "to": at(0.5)}),
        ("table", {**closed, "from": "now-4d"}),
        ("diff", {**closed, "base_from": at(2), "base_to": at(0.9)}),
        ("status", {}),
        ("functions/1", {}),
        ("stacks", {**closed, "format": "pprof"}),
    )
    for route, query in open_:
        assert client.get(f"/api/v1/{route}", params=query).headers["cache-control"] == "no-store", route
    for wrong in ({"select": "{"}, {"campaign": "none"}):
        response = client.get("/api/v1/table", params={**closed, **wrong})
        problem(response, response.status_code)
        assert response.headers["cache-control"] == "no-store"


def test_an_answer_with_a_cookie_is_not_kept(
    reader: TestClient, closed: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    kept = reader.get("/api/v1/table", params=closed)
    assert kept.headers["cache-control"].startswith("private")
    real = sessions.time.time
    monkeypatch.setattr(sessions.time, "time", lambda: real() + sessions.SESSION_SECONDS - 60)
    renewed = reader.get("/api/v1/table", params=closed)
    assert "set-cookie" in renewed.headers
    assert renewed.headers["cache-control"] == "no-store"
