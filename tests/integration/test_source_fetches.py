"""GIVEN sources on servers WHEN viewers read them over HTTP THEN no server leads elsewhere, and no viewer takes all there is."""

import http.server
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, insert, select

from services.api import symbols
from services.api.app import create_app
from services.symbols.symbol_service import SymbolService
from storage.archive import Archive
from storage.query.query_engine import QueryEngine
from storage.schema import binary, source_path, symbol_absence
from symbolizer.source_text.text import FetchLimits, SourceTexts
from symbolizer.sources.debuginfod_client import DebuginfodClient
from tests.access_records import access_of
from tests.fact_writer import FactWriter
from tests.http_stub import Server, redirects, sends
from tests.polling import until

pytestmark = pytest.mark.integration

ONE, OTHER = "1" * 24, "2" * 24
"""Tokens of two viewers."""
KEY = "ab" * 20


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def api(
    engine: Engine, archive: Archive, server: Server, tmp_path: Path
) -> Iterator[Callable[..., TestClient]]:
    """Makes the API of a fleet in which `app` of ten sources ran."""
    with engine.begin() as connection:
        connection.execute(insert(binary).values(key=KEY, name="app", path="/usr/bin/app", kind="file"))
        write = FactWriter(connection)
        for number in range(10):
            write.function(f"f{number}", file=f"/build/{number}.c", binary="app")
    queries = QueryEngine(engine)
    opened: list[TestClient] = []

    def make(limits: FetchLimits | None = None) -> TestClient:
        clients = [DebuginfodClient(server.url)]
        texts = SourceTexts(engine, archive, folder=tmp_path / "f", servers=clients, limits=limits)
        access = access_of(tmp_path / "state", [f"viewer:{ONE}", f"viewer:{OTHER}"])
        service = SymbolService(engine, archive, texts=texts)
        app = create_app(queries, access, static=tmp_path, symbols=service, uploads=tmp_path / "uploads")
        opened.append(TestClient(app, base_url="http://127.0.0.1:7070").__enter__())
        return opened[-1]

    yield make
    for client in opened:
        client.__exit__()
    queries.close()


def source(client: TestClient, number: int, token: str = ONE):
    return client.get(
        "/api/v1/source",
        params={"binary": KEY, "path": f"/build/{number}.c"},
        headers={"Authorization": f"Bearer {token}"},
    )


def count(engine: Engine, table) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def test_a_server_that_redirects_elsewhere_shows_nothing_from_there(
    api, server: Server, engine: Engine
) -> None:
    inner = Server("127.0.0.2")
    try:
        inner.answer = sends(b"role-credentials")
        server.answer = redirects(f"{inner.url}/latest/meta-data")
        response = source(api(), 0)
    finally:
        inner.close()
    assert response.status_code == 404
    assert "role-credentials" not in response.text
    assert len(server.asked) == 1
    assert inner.asked == []
    assert count(engine, source_path) == 0


def test_servers_are_asked_for_no_path_that_a_viewer_made_up(api, server: Server, engine: Engine) -> None:
    client = api()
    for number in range(10, 20):
        assert source(client, number).status_code == 404
    assert server.asked == []
    assert count(engine, symbol_absence) == 0


@pytest.mark.slow
def test_fetches_of_an_hour_are_limited_and_later_ones_are_told_when_to_come(
    api, server: Server, engine: Engine
) -> None:
    server.answer = sends(b"int x;")
    client = api(FetchLimits(per_hour=3))
    statuses = [source(client, number).status_code for number in range(5)]
    assert statuses == [200, 200, 200, 503, 503]
    refused = source(client, 4)
    assert 3500 <= int(refused.headers["Retry-After"]) <= 3600
    assert "FLEETPROF_SOURCE_FETCHES_PER_HOUR" in refused.json()["hint"]
    assert len(server.asked) == count(engine, source_path) == 3
    assert source(client, 0).status_code == 200, "what is stored needs no fetch"


@pytest.mark.slow
def test_one_caller_does_not_hold_all_places(api, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "_SOURCE_PATIENCE_S", 0.2)
    go_on = threading.Event()

    def slow(request: http.server.BaseHTTPRequestHandler) -> None:
        if not request.path.endswith("9.c"):
            go_on.wait(60)
        sends(b"int x;")(request)

    server.answer = slow
    client = api()
    with ThreadPoolExecutor(6) as pool:
        try:
            slow_ones = [pool.submit(source, client, number) for number in range(4)]
            # Two wait for the server; the other two of the same caller are sent away.
            until(lambda: sum(each.done() for each in slow_ones) == 2, "two are refused")
            refused = [each.result() for each in slow_ones if each.done()]
            assert [(each.status_code, each.json()["type"].split(":")[-1]) for each in refused] == [
                (503, "busy")
            ] * 2
            assert all(int(each.headers["Retry-After"]) > 0 for each in refused)
            assert source(client, 9, OTHER).status_code == 200
        finally:
            go_on.set()
    assert sorted(each.result().status_code for each in slow_ones) == [200, 200, 503, 503]
