"""The shares of a base beside those of the selection: /call-graph and /lines with base_*."""

import csv
from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from storage.query.answers.answer import adapter
from storage.query.answers.call_graph import CallGraphAnswer
from storage.query.answers.lines import LinesAnswer
from tests.integration.api.fetch_answers import NOON, RANGE, problem
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

BEFORE = {"from": "2026-11-20T11:00:00Z", "to": "2026-11-20T13:00:00Z"}
BASE = {f"base_{name}": value for name, value in BEFORE.items()}
OWN_OF_BASE = ("b_self_share", "b_total_share", "b_share", "delta")
NO_BASE = ("base", "base_totals", "base_itself")


@pytest.fixture
def two_days(engine: Engine) -> None:
    """The second day no longer calls `old` and calls `new`; `main` moved from line 3 to line 4."""
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100}, random=Random(1))
        write = campaign.write
        main, work, old, new = (
            write.function(name, file="m.c", binary="prog") for name in ("main", "work", "old", "new")
        )
        stacks = [write.stack([main, *callees]) for callees in ((), (work,), (old,), (new, work))]
        days = ((NOON - timedelta(days=1), (5, 20, 30, 0), 3), (NOON, (5, 30, 0, 7), 4))
        for day, counts, line in days:
            for number in range(6):
                visit = campaign.answer(day + timedelta(minutes=number), "east", machine=f"m{number}")
                samples = {
                    stack: count * (number + 1) for stack, count in zip(stacks, counts, strict=True) if count
                }
                every = sum(samples.values())
                lines = {(main, line): (5 * (number + 1), every), (work, 9): (counts[1], counts[1])}
                write.profile(visit, samples, labels={"application": "prog"}, lines=lines)


def fetch(client: TestClient, route: str, kind: type, **query: object) -> dict:
    response = client.get(f"/api/v1/{route}", params=query)
    assert response.status_code == 200, response.text
    adapter(kind).validate_python(response.json())
    return response.json()


def without(row: dict, *names: str) -> dict:
    return {name: value for name, value in row.items() if name not in names}


def test_nodes_and_edges_have_their_shares_in_both(client: TestClient, two_days: None):
    both = fetch(client, "call-graph", CallGraphAnswer, **RANGE, **BASE)
    now = fetch(client, "call-graph", CallGraphAnswer, **RANGE)
    base = fetch(client, "call-graph", CallGraphAnswer, **BEFORE)
    assert (both["selection"], both["totals"]) == (now["selection"], now["totals"])
    assert (both["base"], both["base_totals"]) == (base["selection"], base["totals"])
    in_now, in_base = ({node["name"]: node for node in graph["nodes"]} for graph in (now, base))
    assert {node["name"] for node in both["nodes"]} == {"main", "work", "old", "new"}
    for node in both["nodes"]:
        if node["name"] in in_now:
            assert without(node, *OWN_OF_BASE) == without(in_now[node["name"]], *OWN_OF_BASE)
        b = in_base.get(node["name"], {"self_share": 0.0, "total_share": 0.0})
        assert (node["b_self_share"], node["b_total_share"]) == (b["self_share"], b["total_share"])
        assert node["delta"] == pytest.approx(node["total_share"] - b["total_share"])
    old = next(node for node in both["nodes"] if node["name"] == "old")
    assert (old["self"], old["total_share"], old["total_lo"], old["visits"]) == (0, 0.0, 0.0, 0)
    assert 0 < old["total_hi"] < 1
    heaviest = [max(node["total_share"], node["b_total_share"]) for node in both["nodes"]]
    assert heaviest == sorted(heaviest, reverse=True)

    def calls(graph: dict, share: str) -> dict[tuple[str, str], float]:
        return {(e["caller_function"], e["callee_function"]): e[share] for e in graph["edges"] if e[share]}

    assert calls(both, "share") == calls(now, "share")
    assert calls(both, "b_share") == calls(base, "share")
    gone = next(edge for edge in both["edges"] if edge["callee_function"] == "old")
    assert (gone["units"], gone["lo"], gone["delta"]) == (0, None, -gone["b_share"])


def test_a_cut_graph_keeps_what_is_heavy_on_either_side(client: TestClient, two_days: None):
    graph = fetch(client, "call-graph", CallGraphAnswer, **RANGE, **BASE, min_share="0.3", nodes="3")
    assert [node["name"] for node in graph["nodes"]] == ["main", "work", "old"]
    left = graph["left_out"]
    whole = fetch(client, "call-graph", CallGraphAnswer, **RANGE)
    new = next(node for node in whole["nodes"] if node["name"] == "new")
    assert (left["nodes"], left["heaviest_node"]) == (1, new["total_share"])
    through_new = next(edge for edge in graph["edges"] if edge["callee_function"] == "work")
    assert through_new["residual"]


def test_lines_have_their_shares_in_both(client: TestClient, two_days: None):
    both = fetch(client, "lines", LinesAnswer, **RANGE, **BASE, file="m.c")
    now = fetch(client, "lines", LinesAnswer, **RANGE, file="m.c")
    base = fetch(client, "lines", LinesAnswer, **BEFORE, file="m.c")
    assert (both["base"], both["base_totals"], both["base_itself"]) == (
        base["selection"],
        base["totals"],
        base["itself"],
    )
    assert without(
        both, *NO_BASE, "rows", "rows_total", "versions", "functions", "functions_total"
    ) == without(now, *NO_BASE, "rows", "rows_total", "versions", "functions", "functions_total")
    assert {each["name"] for each in both["functions"]} == {"main", "work", "new", "old"}
    assert both["functions_total"] == 4
    in_now, in_base = ({row["line"]: row for row in lines["rows"]} for lines in (now, base))
    assert [row["line"] for row in both["rows"]] == [3, 4, 9]
    for row in both["rows"]:
        if row["line"] in in_now:
            assert without(row, *OWN_OF_BASE) == without(in_now[row["line"]], *OWN_OF_BASE)
        b = in_base.get(row["line"], {"self_share": 0.0, "total_share": 0.0})
        assert (row["b_self_share"], row["b_total_share"]) == (b["self_share"], b["total_share"])
        assert row["delta"] == pytest.approx(row["total_share"] - b["total_share"])
    moved = both["rows"][0]
    assert (moved["key"], moved["self"], moved["total_lo"]) == ({"file": "m.c", "line": "3"}, 0, 0.0)
    (version,) = both["versions"]
    assert version["self_share"] == now["versions"][0]["self_share"]
    assert version["b_self_share"] == base["versions"][0]["self_share"]
    few = fetch(client, "lines", LinesAnswer, **RANGE, **BASE, file="m.c", limit="2")
    assert [row["line"] for row in few["rows"]] == [3, 4]
    assert few["remainder_self"] + sum(row["self"] for row in few["rows"]) == both["remainder_self"] + sum(
        row["self"] for row in both["rows"]
    )


def test_without_a_base_its_members_are_null(client: TestClient, two_days: None):
    graph = fetch(client, "call-graph", CallGraphAnswer, **RANGE)
    assert [graph["base"], graph["base_totals"]] == [None, None]
    assert {node[name] for node in graph["nodes"] for name in ("b_self_share", "b_total_share", "delta")} == {
        None
    }
    assert {edge[name] for edge in graph["edges"] for name in ("b_share", "delta")} == {None}
    lines = fetch(client, "lines", LinesAnswer, **RANGE, file="m.c")
    assert [lines[name] for name in NO_BASE] == [None] * 3
    assert {row[name] for row in lines["rows"] for name in ("b_self_share", "b_total_share", "delta")} == {
        None
    }


def test_csv_has_the_base(client: TestClient, two_days: None):
    for route, more in (("call-graph", {}), ("lines", {"file": "m.c"})):
        text = client.get(f"/api/v1/{route}", params={**RANGE, **BASE, **more, "format": "csv"}).text
        rows = list(csv.DictReader(text.splitlines()))
        assert any(float(row["delta"]) < 0 for row in rows)


def test_the_base_takes_the_parameters_of_diff(client: TestClient, two_days: None):
    other = {**BASE, "base_select": '{app="none"}'}
    graph = fetch(client, "call-graph", CallGraphAnswer, **RANGE, **other)
    assert graph["base"]["select"] == '{application="none"}'
    assert {node["b_total_share"] for node in graph["nodes"]} == {0.0}
    assert problem(client.get("/api/v1/call-graph", params={**RANGE, **BASE, "base_campaign": "x"}), 404)
    for given, missing in (
        ({"base_from": "now-1d"}, "base_to"),
        ({"base_to": "now"}, "base_from"),
        ({"base_select": "{}"}, "base_from"),
        ({"base_campaign": "fleet"}, "base_from"),
    ):
        for route in ("call-graph", "lines"):
            query = {**RANGE, **given, **({"file": "m.c"} if route == "lines" else {})}
            found = problem(client.get(f"/api/v1/{route}", params=query), 422)
            assert found["parameter"] == missing
    wrong = {**RANGE, "base_from": "now", "base_to": "now-1h"}
    assert problem(client.get("/api/v1/call-graph", params=wrong), 400)["parameter"] == "base_from"
