"""What the API answers, in each of its forms."""

import csv
import gzip
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard
from httpx2 import Response
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from services.api.auth import Access
from services.api.response_cache import ResponseCache
from storage.query.answers.answer import adapter
from storage.query.answers.flame import FlameAnswer
from storage.query.answers.labels import LabelsAnswer
from storage.query.answers.movers import MoversAnswer
from storage.query.answers.status import StatusAnswer
from storage.query.answers.table import TableAnswer
from storage.query.query_engine import QueryEngine
from tests.fact_writer import FactWriter
from tests.flame_columns import decode
from tests.integration.api.fetch_answers import BASE, BEARER, DESIGNED, NOON, RANGE, problem
from tests.integration.api.served import write_samples

pytestmark = pytest.mark.integration


def test_the_table_is_what_its_description_says(client: TestClient, samples: None):
    answer = client.get("/api/v1/table", params=RANGE).json()
    adapter(TableAnswer).validate_python(answer)
    assert answer["selection"]["from"] == "2026-11-21T11:00:00Z"
    assert answer["totals"]["seconds"] == pytest.approx(2.0)
    assert answer["totals"]["symbolized"] == pytest.approx(0.9)
    first = answer["rows"][0]
    assert first["key"] == {
        "function": "main",
        "file": "m.c",
        "binary": "prog",
        "status": "full",
        "kind": "user",
    }
    assert (first["self_seconds"], first["total_share"], first["machines"]) == (pytest.approx(1.5), 1.0, 2)
    assert (
        sum(row["self"] for row in answer["rows"]) + answer["remainder"]["self"] == answer["totals"]["units"]
    )


def test_the_table_takes_labels_sorting_pages_and_text(client: TestClient, samples: None):
    by_app = client.get(
        "/api/v1/table", params={**RANGE, "by": "app,function", "sort": "name", "limit": 2}
    ).json()
    assert by_app["by"] == ["application", "function"]
    assert [row["key"]["application"] for row in by_app["rows"]] == ["other", "prog"]
    assert by_app["rows_total"] == 4
    assert by_app["remainder"]["rows"] == 2
    found = client.get("/api/v1/table", params={**RANGE, "find": "LIBZ"}).json()
    assert [row["key"]["status"] for row in found["rows"]] == ["binary_only"]
    assert found["remainder"]["self_share"] == pytest.approx(0.9)


def test_the_flame_graph_adds_up_to_the_table(client: TestClient, samples: None):
    query = {**RANGE, "select": '{app="prog"}'}
    answer = client.get("/api/v1/flame", params=query).json()
    adapter(FlameAnswer).validate_python(answer)
    table = client.get("/api/v1/table", params=query).json()
    assert answer["nodes"]["total"][0] == pytest.approx(table["totals"]["seconds"]) == pytest.approx(1.0)
    names = [answer["functions"][index]["name"] for index in answer["nodes"]["function"]]
    assert names == ["all", "main", "memcpy", "libz.so+0x40"]
    assert answer["nodes"]["parent"] == [-1, 0, 1, 1]


def test_the_binary_flame_graph_says_the_same(client: TestClient, samples: None):
    as_json = client.get("/api/v1/flame", params=RANGE).json()
    response = client.get(
        "/api/v1/flame", params=RANGE, headers={"Accept": "application/vnd.fleetprof.flame"}
    )
    assert response.headers["content-type"] == "application/vnd.fleetprof.flame"
    assert "Accept" in response.headers["vary"]
    head, nodes = decode(response.content)
    assert head == {k: v for k, v in as_json.items() if k != "nodes"}
    columns = map(list, zip(*nodes, strict=True))
    assert list(columns) == [as_json["nodes"][name] for name in ("total", "self", "parent", "function")]


def test_a_diff_needs_a_base(client: TestClient, fleet: None):
    assert "base_from" in problem(client.get("/api/v1/diff", params=DESIGNED), 422)["detail"]
    wrong = {**DESIGNED, "base_from": "now", "base_to": "now-1h"}
    assert "empty" in problem(client.get("/api/v1/diff", params=wrong), 400)["detail"]


def test_the_status_has_the_price(engine: Engine, access: Access, static: Path):
    queries = QueryEngine(engine)
    app = create_app(queries, access, static=static, price_per_core_hour=0.04)
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        assert client.get("/api/v1/status").json()["price_per_core_hour"] == 0.04
    queries.close()


def test_money_is_core_hours_at_the_price(engine: Engine, access: Access, static: Path, fleet: None):
    queries = QueryEngine(engine)
    app = create_app(queries, access, static=static, price_per_core_hour=0.04)
    asked = {**DESIGNED, "applications": "1", "cold": "1", "saving": "0.25"}
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        answer = client.get("/api/v1/shared-code", params=asked).json()
    queries.close()
    row = answer["rows"][0]
    cost = row["cost"]
    hours = row["self_core_seconds"]["value"] / 3600
    assert cost["core_hours"]["value"] == pytest.approx(hours)
    assert cost["money"]["hi"] == pytest.approx(cost["core_hours"]["hi"] * 0.04)
    assert cost["money_a_year"]["value"] == pytest.approx(cost["cores"]["value"] * 8766 * 0.04)
    assert row["saved"]["money"]["value"] == pytest.approx(hours * 0.04 / 4)


def test_questions_about_functions_that_mean_nothing_are_refused(client: TestClient, samples: None):
    for route, query in (
        ("callers", {}),
        ("callers", {"function": "f", "function_id": "3"}),
        ("callers", {"function": '{function="x'}),
        ("lines", {"binary": "b"}),
        ("lines", {"function": "f", "focus": "x"}),
        ("table", {"by": "function,line", "hide": "x"}),
        ("table", {"find_regex": "("}),
        ("diff", {"by": "line", "base_from": "now-1h", "base_to": "now"}),
        ("shared-code/users", {"function": "f", "by": "file"}),
    ):
        assert problem(client.get(f"/api/v1/{route}", params={**RANGE, **query}), 400)["hint"]


def test_labels_and_status_are_what_their_descriptions_say(client: TestClient, samples: None):
    labels = client.get("/api/v1/labels", params=RANGE).json()
    adapter(LabelsAnswer).validate_python(labels)
    by_name = {label["name"]: label["values"] for label in labels["labels"]}
    assert [(v["value"], v["share"]) for v in by_name["application"]] == [("other", 0.5), ("prog", 0.5)]
    assert set(by_name) == {"application", "platform", "machine", "comm"}
    status = client.get("/api/v1/status").json()
    adapter(StatusAnswer).validate_python(status)
    assert status["latest"] == "2026-11-21T12:00:00Z"
    assert status["machines"] == {"enabled": 2, "total": 2}
    assert status["events"] == [{"event": "cpu", "unit": "nanoseconds"}]


@pytest.mark.slow
def test_large_answers_are_compressed_for_who_can_read_it(client: TestClient, engine: Engine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"function_{i}") for i in range(50)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    client.headers["Accept-Encoding"] = "identity"
    plain = client.get("/api/v1/flame", params=RANGE)
    assert "content-encoding" not in plain.headers
    unpack = {"gzip": gzip.decompress, "zstd": zstandard.ZstdDecompressor().decompress}
    for accepted, coding in (("gzip", "gzip"), ("gzip, zstd", "zstd")):
        asked = client.stream("GET", "/api/v1/flame", params=RANGE, headers={"Accept-Encoding": accepted})
        with asked as packed:
            assert packed.headers["content-encoding"] == coding
            content = b"".join(packed.iter_raw())
        assert len(content) == int(packed.headers["content-length"]) < len(plain.content)
        assert json.loads(unpack[coding](content)) == plain.json()


def test_where_the_time_went_is_told(client: TestClient, samples: None):
    made = client.get("/api/v1/flame", params=RANGE)
    stacks = client.get("/api/v1/stacks", params={**RANGE, "format": "collapsed"})
    for response in (made, stacks):
        parts = dict(part.split(";dur=") for part in response.headers["server-timing"].split(", "))
        assert list(parts) == ["wait", "database", "reckoning", "writing", "packing"]
        assert float(parts["database"]) > 0
        assert float(parts["reckoning"]) > 0


@pytest.fixture
def cache() -> ResponseCache:
    return ResponseCache(1 << 20, ttl_s=3600.0)


@pytest.fixture
def cached(engine: Engine, access: Access, static: Path, cache: ResponseCache) -> Iterator[TestClient]:
    """A client of an app that caches responses for an hour."""
    queries = QueryEngine(engine)
    app = create_app(queries, access, static=static, cache=cache)
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        yield client
    queries.close()


@pytest.mark.slow
def test_cached_responses_are_the_computed_ones(cached: TestClient, cache: ResponseCache, samples: None):
    routes = ("table", "flame", "callers", "series", "call-graph")
    forms = [(route, form) for route in routes for form in ("application/json", "text/csv")]
    for route, form in (*forms, ("flame", "application/vnd.fleetprof.flame")):
        query = {**RANGE, **({"function": "main"} if route == "callers" else {})}
        for coding in ("identity", "gzip", "zstd"):

            def get(**more: str) -> Response:
                headers = {"Accept": form, "Accept-Encoding": coding, **more}  # noqa: B023 - called at once
                return cached.get(f"/api/v1/{route}", params=query, headers=headers)  # noqa: B023

            first, again, hit = get(), get(**{"Cache-Control": "no-cache"}), get()
            assert first.status_code == 200
            assert first.content == again.content == hit.content
            assert first.headers["etag"] == again.headers["etag"] == hit.headers["etag"]
            assert ["age" in response.headers for response in (first, again, hit)] == [False, False, True]
            assert get(**{"If-None-Match": hit.headers["etag"]}).status_code == 304
    assert 0 < cache.hits == 2 * cache.misses
    assert cached.get("/api/v1/table", params=RANGE, headers={"Authorization": ""}).status_code == 401


def test_a_response_without_samples_is_never_cached(cached: TestClient, engine: Engine):
    """Seen: a run of 17 s ended with "No profile … has been ingested" though 49 had ingested."""
    compared = {**RANGE, "base_from": "2026-11-20T11:00:00Z", "base_to": "2026-11-20T13:00:00Z"}
    asked = [(route, RANGE) for route in ("table", "flame", "status", "labels")] + [("diff", compared)]
    before = [
        cached.get(f"/api/v1/{route}", params={} if route == "status" else query) for route, query in asked
    ]
    write_samples(engine)
    after = [
        cached.get(f"/api/v1/{route}", params={} if route == "status" else query) for route, query in asked
    ]
    for one, other in zip(before, after, strict=True):
        assert "age" not in other.headers
        assert one.json() != other.json()
    # Half of the comparison has no samples still.
    assert "age" not in cached.get("/api/v1/diff", params=compared).headers
    assert "age" in cached.get("/api/v1/table", params=RANGE).headers


def test_a_failed_question_is_not_cached(cached: TestClient, cache: ResponseCache, samples: None):
    for _ in range(2):
        problem(cached.get("/api/v1/table", params={**RANGE, "campaign": "none"}), 404)
        problem(cached.get("/api/v1/table", params={**RANGE, "find_regex": "("}), 400)
    assert (cache.size.rows, cache.hits) == (0, 0)


@pytest.mark.slow
def test_a_node_is_drawn_by_the_way_to_it(client: TestClient, samples: None):
    whole = client.get("/api/v1/flame", params=RANGE).json()
    ids = [whole["functions"][function]["id"] for function in whole["nodes"]["function"]]
    below = client.get("/api/v1/flame", params={**RANGE, "root": f"{ids[1]},{ids[2]}"}).json()
    adapter(FlameAnswer).validate_python(below)
    assert below["path"] == ids[1:3]
    assert below["nodes"]["total"] == [whole["nodes"]["total"][2]]
    for root in ("x", "1,,2", "-1", "99999999999", "1.5", "٣"):
        told = problem(client.get("/api/v1/flame", params={**RANGE, "root": root}), 400)
        assert "root" in told["detail"] + told["hint"], root
    told = problem(client.get("/api/v1/flame", params={**RANGE, "root": "2147483000"}), 400)
    assert "No stack" in told["detail"]


def test_a_call_graph_is_drawn_by_graphviz(client: TestClient, samples: None):
    answer = client.get("/api/v1/call-graph", params=RANGE, headers={"Accept": "text/vnd.graphviz"})
    assert answer.headers["content-type"] == "text/vnd.graphviz; charset=utf-8"
    assert "n0 -> n1" in answer.text
    assert "libz.so+0x40" in answer.text
    rows = client.get("/api/v1/call-graph", params={**RANGE, "format": "csv"}).text.splitlines()
    assert rows[0].replace('"', "").startswith("caller,callee,caller_function,callee_function,units,share")
    assert len(rows) == 3


@pytest.mark.slow
def test_a_series_is_had_as_rows_of_points(client: TestClient, fleet: None):
    query = {**DESIGNED, "by": "application", "step": "20m"}
    answer = client.get("/api/v1/series", params=query).json()
    rows = client.get("/api/v1/series", params={**query, "format": "csv"}).text.splitlines()
    assert len(rows) == 1 + sum(len(line["points"]["units"]) for line in answer["lines"]) == 1 + 3 * 3
    read = list(csv.DictReader(rows))
    for number, line in enumerate(answer["lines"]):
        points, of_line = line["points"], read[3 * number : 3 * number + 3]
        assert [row["start"] for row in of_line] == answer["steps"]["start"]
        assert [int(row["units"]) for row in of_line] == points["units"]
        assert [place for place, row in enumerate(of_line) if row["low_confidence"] == "true"] == points[
            "low_confidence"
        ]
        for end in ("value", "lo", "hi"):
            told = [float(row[f"core_seconds.{end}"] or "nan") for row in of_line]
            wanted = [math.nan if value is None else value for value in points["core_seconds"][end]]
            assert told == pytest.approx(wanted, rel=1e-8, nan_ok=True)
    assert (
        "step" in problem(client.get("/api/v1/series", params={**query, "step": "5"}), 400)["detail"] + "step"
    )
    assert "points" in problem(client.get("/api/v1/series", params={**query, "step": "1s"}), 400)["detail"]


@pytest.mark.slow
def test_movers_compare_the_last_whole_day_with_the_day_before(client: TestClient, fleet: None):
    answer = client.get("/api/v1/movers", params={"select": '{app="prog"}'}).json()
    adapter(MoversAnswer).validate_python(answer)
    start, end = (datetime.fromisoformat(answer["selection"][name]) for name in ("from", "to"))
    assert end - start == timedelta(days=1)
    assert (end.hour, end.minute, end.second, end.microsecond) == (0, 0, 0, 0)
    assert end <= datetime.now(UTC)
    assert answer["base"]["to"] == answer["selection"]["from"]
    assert answer["because"]["reason"] == "too_little"
    week = client.get("/api/v1/movers", params={**DESIGNED, "before": "1w"}).json()
    assert week["base"]["from"] == "2026-11-11T12:00:00Z"
    told = problem(client.get("/api/v1/movers", params={**DESIGNED, "before": "soon"}), 400)
    assert "Invalid duration" in told["detail"]
    told = problem(client.get("/api/v1/movers", params={**DESIGNED, "base_from": "now-1d"}), 400)
    assert "time" in told["detail"]


@pytest.mark.slow
def test_a_differential_flame_graph_is_had_as_rows_of_nodes(client: TestClient, fleet: None):
    query = {**DESIGNED, "base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"}
    answer = client.get("/api/v1/flame-diff", params=query).json()
    rows = client.get("/api/v1/flame-diff", params={**query, "format": "csv"}).text.splitlines()
    assert rows[0].replace('"', "").split(",")[:5] == ["parent", "function", "file", "binary", "total"]
    assert len(rows) == 1 + len(answer["nodes"]["total"])
    diff = client.get("/api/v1/diff", params=query).json()
    deltas = {row["function_id"]: row["delta"] for row in diff["rows"]}
    for place, delta in zip(answer["nodes"]["function"], answer["nodes"]["delta"], strict=True):
        assert delta == pytest.approx(deltas.get(answer["functions"][place]["id"], 0.0)), (
            "no function stands twice here"
        )
