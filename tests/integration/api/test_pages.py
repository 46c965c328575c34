"""Pages, probes and metrics beside the answers."""

import gzip
import re
from pathlib import Path

import pytest
import zstandard
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from services.api.auth import Access
from storage.query.query_engine import QueryEngine
from tests.integration.api.fetch_answers import BASE, BEARER, RANGE, problem

pytestmark = pytest.mark.integration


def test_the_page_answers_for_every_place_in_it(anyone: TestClient):
    for path in ("/", "/q", "/fn/17", "/index.html"):
        response = anyone.get(path)
        assert ("the page" in response.text) == (path != "/index.html") or response.status_code == 404
    assert anyone.get("/").headers["cache-control"] == "no-cache"
    asset = anyone.get("/assets/main-1a2b.js")
    assert asset.text == "start()"
    assert "immutable" in asset.headers["cache-control"]
    problem(anyone.get("/assets/gone.js"), 404)


def test_what_pages_load_is_packed_and_the_same(anyone: TestClient):
    unpack = {"gzip": gzip.decompress, "zstd": zstandard.ZstdDecompressor().decompress, None: bytes}
    for accepted, coding in (("gzip, deflate, br, zstd", "zstd"), ("gzip", "gzip"), ("identity", None)):
        for _ in range(2):
            with anyone.stream(
                "GET", "/assets/main-1a2b.js", headers={"Accept-Encoding": accepted}
            ) as answer:
                content = b"".join(answer.iter_raw())
            assert answer.headers.get("content-encoding") == coding
            assert answer.headers["content-type"].startswith("text/javascript")
            assert "immutable" in answer.headers["cache-control"]
            assert answer.headers["vary"] == "Accept-Encoding"
            assert int(answer.headers["content-length"]) == len(content)
            assert unpack[coding](content) == b"start()"


def test_heads_are_refused_where_only_answers_have_them(client: TestClient):
    for path in ("/api/v1/table", "/api/v1/flame"):
        refused = client.head(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    assert client.head("/").status_code == 200
    for path in ("/api", "/api/v1/nothing", "/api/v1/table/nothing"):
        assert [client.request(method, path).status_code for method in ("HEAD", "GET")] == [404, 404]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/x%00.js", f"/{'x' * 300}.js"],
)
def test_files_beside_the_page_stay_there(anyone: TestClient, path: str):
    response = anyone.get(path)
    assert "not for everybody" not in response.text
    assert response.status_code in {200, 404}


@pytest.mark.slow
def test_strangers_make_no_time_series(anyone: TestClient):
    for method in ("BREW", "WHEN", "GET"):
        anyone.request(method, "/")
    metrics = anyone.get("/metrics", headers=BEARER).text
    assert set(re.findall(r'_count{method="(\w+)"', metrics)) == {"GET", "other"}


def test_a_page_that_was_not_built_says_how_to(engine: Engine, access: Access, tmp_path: Path):
    queries = QueryEngine(engine)
    with TestClient(create_app(queries, access, static=tmp_path / "none"), base_url=BASE) as client:
        response = client.get("/")
        assert response.status_code == 503
        assert "make web" in response.text
    queries.close()


def test_every_answer_carries_the_security_headers(anyone: TestClient):
    for path in ("/", "/api/v1/table", "/login", "/healthz"):
        headers = anyone.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert re.fullmatch("[0-9a-f]{12}", headers["x-request-id"])


def test_probes_and_metrics(anyone: TestClient, samples: None):
    assert anyone.get("/healthz").json() == {"status": "alive"}
    assert anyone.get("/readyz").json() == {"status": "ready"}
    anyone.get("/api/v1/table")
    anyone.get("/api/v1/table", params=RANGE, headers=BEARER)
    problem(anyone.get("/metrics"), 401)
    text = anyone.get("/metrics", headers=BEARER).text
    assert 'fleetprof_http_request_seconds_count{method="GET",route="/api/v1/table",status="401"} 1.0' in text
    assert "fleetprof_captures_waiting 0.0" in text
    assert re.search(r"^fleetprof_days_without_daily_rollup [0-9]", text, re.MULTILINE)
    assert 'fleetprof_cache_rows{cache="stacks"} 3.0' in text
    assert re.search(r'fleetprof_cache_bytes\{cache="functions"\} [1-9]', text)
    assert re.search(r"^process_resident_memory_bytes [1-9]", text, re.MULTILINE)
    assert "fleetprof_database_up 1.0" in text
