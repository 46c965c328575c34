"""GIVEN answers that are counted from stacks WHEN those are asked for as files THEN the files have the answers' totals.

Files are read by `go tool pprof`, by speedscope's format and by hand; figures are those of the JSON answers.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from tests import go_pprof
from tests.integration.api.fetch_answers import BEARER, NOON, RANGE, problem
from tests.integration.api.served import calling
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

STACKS = (
    ("main",),
    ("main", "parse", "malloc"),
    ("main", "parse", "parse", "memcpy"),
    ("main", "emit", "malloc"),
    ("init", "emit"),
    ("init", "walk", "malloc", "brk"),
)
FILES = {"parse": "parse.c", "emit": "emit.c", "walk": "parse.c"}
BINARIES = {"malloc": "libc.so.6", "memcpy": "libc.so.6", "brk": "vmlinux"}


@pytest.fixture(scope="module")
def shared(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Nine visits of a random design, each with other counts, of two applications."""
    with module_engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100, "west": 10}, random=Random(3))
        write = campaign.write
        names = sorted({name for stack in STACKS for name in stack})
        ids = {
            name: write.function(name, file=FILES.get(name, ""), binary=BINARIES.get(name, "prog"))
            for name in names
        }
        stacks = [write.stack([ids[name] for name in stack]) for stack in STACKS]
        draw = Random(5)
        for number in range(9):
            visit = campaign.answer(
                NOON + timedelta(minutes=number), ("east", "west")[number % 2], machine=f"m{number}"
            )
            for application in ("web", "batch"):
                counts = {stack: draw.randint(1, 90) for stack in stacks}
                lines = {(ids["parse"], 12): (5, 9), (ids["walk"], 40): (0, 3)}
                write.profile(visit, counts, labels={"application": application}, lines=lines)
    with calling(module_engine, tmp_path_factory.mktemp("api")) as made:
        made.headers.update(BEARER)
        yield made


def asked(client: TestClient, route: str, query: dict[str, str], form: str = "json", **more: str) -> Any:
    answer = client.get(f"/api/v1/{route}", params={**RANGE, **query, "format": form, **more})
    assert answer.status_code == 200, answer.text
    return answer.json() if form in {"json", "speedscope"} else answer.content


def collapsed(client: TestClient, route: str, query: dict[str, str], value: str) -> Counter[tuple[str, ...]]:
    text = asked(client, route, query, "collapsed", value=value).decode()
    found: Counter[tuple[str, ...]] = Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        found[tuple(stack.split(";"))] += int(count)
    return found


def units(document: dict[str, Any]) -> int:
    """Of the stacks that an answer is counted from."""
    itself = document.get("itself")
    return itself["total"] if itself else document["totals"]["units"]


NARROW = {"hide": "^parse$", "ignore": "walk", "focus": "main|emit"}
CASES = [
    ("callers", {"function": "malloc"}),
    ("callers", {"function": "parse"}),
    ("callers", {"function": '{file="parse.c"}'}),
    ("callers", {"function": "malloc", **NARROW}),
    ("callers", {"function": "malloc", "select": '{application="web",self.function!="brk"}'}),
    ("callers", {"function": "parse", **NARROW}),
    ("call-graph", {"nodes": "2", "edges": "1"}),
    ("call-graph", NARROW),
    ("table", {"limit": "1"}),
    ("table", {"by": "application,function"}),
    ("table", {"by": "application", **NARROW}),
    ("table", {"by": "function,line"}),
    ("lines", {"function": "parse"}),
    ("lines", {"file": "parse.c"}),
    ("lines", {"file": "parse.c", "binary": "none"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("route", "query"), CASES)
def test_files_have_the_stacks_that_were_counted(
    shared: TestClient, tmp_path: Path, route: str, query: dict[str, str]
) -> None:
    document = asked(shared, route, query)
    observed = collapsed(shared, route, query, "observed")
    assert sum(observed.values()) == units(document)

    fleet = collapsed(shared, route, query, "estimate")
    estimate = (document.get("itself") or {}).get("total_core_seconds") or document["totals"]["core_seconds"]
    assert sum(fleet.values()) == pytest.approx(estimate["value"] * 1e9, rel=1e-9, abs=1)

    drawn = asked(shared, route, query, "speedscope", value="samples")["profiles"][0]
    samples = sum(collapsed(shared, route, query, "samples").values())
    assert (drawn["name"], drawn["endValue"], sum(drawn["weights"])) == ("samples", samples, samples)

    path = tmp_path / "file.pb.gz"
    path.write_bytes(asked(shared, route, query, "pprof"))
    raw = go_pprof.ask(path, "-raw")
    assert f"fleetprof /api/v1/{route}?event=cpu" in go_pprof.ask(path, "-comments")
    rows = re.findall(r"^\s+(\d+)\s+(\d+)\s+(\d+): ([ \d]+)$", raw, re.MULTILINE)
    sums = [sum(map(int, column)) for column in list(zip(*rows, strict=True))[:3]] or [0, 0, 0]
    assert sums == [samples, units(document), sum(fleet.values())]


@pytest.mark.parametrize("narrowed", [{}, NARROW])
@pytest.mark.parametrize("function", ["malloc", "parse", "emit"])
def test_pprof_finds_the_same_callers_in_their_file(
    shared: TestClient, tmp_path: Path, function: str, narrowed: dict[str, str]
) -> None:
    query = {"function": function, **narrowed}
    document = asked(shared, "callers", query)
    path = tmp_path / "callers.pb.gz"
    path.write_bytes(asked(shared, "callers", query, "pprof"))
    text = go_pprof.ask(path, "-top", "-sample_index=cpu", "-unit=ns")
    top = go_pprof.top(re.sub(r"(?<=\d)ns", "", text))
    itself = document["itself"]
    if narrowed.get("hide") == f"^{function}$":
        assert (top, itself["total"]) == ({}, 0)
        return
    assert top[function] == (itself["self"], itself["total"])
    whole = asked(shared, "stacks", {**narrowed, "limit": "100"})
    through = Counter(
        {
            tuple(frame["function"] for frame in row["frames"]): row["units"]
            for row in whole["rows"]
            if any(frame["function"] == function for frame in row["frames"])
        }
    )
    ours = collapsed(shared, "callers", query, "observed")
    assert ours == through
    for row in document["rows"]:
        other = row["key"].get("function")
        if row["side"] == "caller" and other:
            calls = sum(n for stack, n in ours.items() if (other, function) in pairwise(stack))
            assert calls == row["total"]


def test_a_table_by_labels_has_stacks_divided_by_them(shared: TestClient, tmp_path: Path) -> None:
    query = {"by": "application,function"}
    rows = asked(shared, "table", query)["rows"]
    own: Counter[tuple[str, str]] = Counter()
    for stack, count in collapsed(shared, "table", query, "observed").items():
        own[stack[0], stack[-1]] += count
    assert own == {
        (row["key"]["application"], row["key"]["function"]): row["self"] for row in rows if row["self"]
    }
    path = tmp_path / "table.pb.gz"
    path.write_bytes(asked(shared, "table", query, "pprof"))
    assert "application: Total" in go_pprof.ask(path, "-tags")


def test_a_call_graph_is_that_of_pprof_in_its_file(shared: TestClient, tmp_path: Path) -> None:
    nodes = asked(shared, "call-graph", {})["nodes"]
    path = tmp_path / "graph.pb.gz"
    path.write_bytes(asked(shared, "call-graph", {}, "pprof"))
    text = go_pprof.ask(path, "-top", "-cum", "-sample_index=cpu", "-unit=ns")
    top = go_pprof.top(re.sub(r"(?<=\d)ns", "", text))
    assert top == {node["name"]: (node["self"], node["total"]) for node in nodes}


def test_what_an_answer_refuses_its_files_refuse(shared: TestClient) -> None:
    for route, query in (("lines", {"function": "parse"}), ("table", {"by": "line"})):
        for form in ("json", "pprof", "collapsed"):
            answer = shared.get(
                f"/api/v1/{route}", params={**RANGE, **query, "focus": "main", "format": form}
            )
            assert "cannot be filtered by frames" in json.dumps(problem(answer, 400))
    answer = shared.get("/api/v1/callers", params={**RANGE, "format": "pprof"})
    assert "function is missing" in json.dumps(problem(answer, 400))
    answer = shared.get("/api/v1/series", params={**RANGE, "format": "pprof"})
    assert "/call-graph and /lines" in problem(answer, 422)["hint"]
