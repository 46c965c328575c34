"""Answers in every form, over HTTP, against each other and against the programs that open them."""

import csv
import gzip
import io
import json
import re
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import duckdb
import pyarrow as pa
import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from storage.database import open_engine
from storage.query.answers.answer import adapter
from storage.query.answers.stacks import StacksAnswer
from storage.query.query_engine import QueryEngine
from tests import go_pprof
from tests.access_records import access_of
from tests.conftest import administer, sibling
from tests.profile_proto import read
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

TOKEN = "t" * 24
START = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
RANGE = {"from": "2026-11-18T12:00:00Z", "to": "2026-11-18T13:00:00Z"}
ROUTES = ("table", "flame", "diff", "reliability", "labels", "stacks", "status")
PPROF, COLLAPSED = "application/x-pprof", "text/x-collapsed-stacks"


@pytest.fixture(scope="module")
def filled(postgres_url: str, database_template: str):
    """One database for all tests here, which only read."""
    name = f"test_{uuid4().hex[:12]}"
    administer(postgres_url, f"CREATE DATABASE {name} TEMPLATE {database_template}")
    opened = open_engine(sibling(postgres_url, name), application="test")
    yield opened
    opened.dispose()
    administer(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def client(filled: Engine, tmp_path_factory: pytest.TempPathFactory):
    """Of a store with two strata of random visits, a dozen functions, recursion and two applications."""
    draw = Random(6)
    tmp_path = tmp_path_factory.mktemp("static")
    with filled.begin() as connection:
        campaign = Campaign(connection, {"east": 100, "west": 20}, random=Random(1))
        write = campaign.write
        functions = [
            write.function(name, file=file, binary=binary, kind=kind)
            for name, file, binary, kind in (
                ("main", "m.c", "prog", 0),
                ("run;it", "m.c", "prog", 0),
                ("operator new(unsigned long)", "", "libc.so.6", 0),
                ("work", "w.c", "prog", 0),
                ("work", "w.c", "other", 0),
                ("do_syscall_64", "", "[kernel]", 1),
                ("=HYPERLINK(1)", "", "prog", 0),
            )
        ]
        stacks = [
            write.stack(frames)
            for frames in {tuple(draw.choices(functions, k=draw.randint(1, 6))) for _ in range(60)}
        ]
        for number in range(12):
            at = START + timedelta(minutes=4 * number)
            where = ("east", "west")[number % 2]
            visit = campaign.answer(at, where, utilisation=0.5, machine=f"m{number % 5}")
            for application in ("web", "batch"):
                counts = {stack: draw.randint(1, 90) for stack in draw.sample(stacks, 20)}
                write.profile(visit, counts, labels={"application": application, "version": "2"})
    queries = QueryEngine(filled)
    access = access_of(tmp_path / "state", [f"viewer:{TOKEN}"])
    headers = {"Authorization": f"Bearer {TOKEN}"}
    app = create_app(queries, access, static=tmp_path)
    with TestClient(app, base_url="http://127.0.0.1:7070", headers=headers) as made:
        yield made
    queries.close()


def get(client: TestClient, route: str, accept: str = "application/json", **query) -> bytes:
    selected = {} if route == "status" else RANGE
    response = client.get(f"/api/v1/{route}", params={**selected, **query}, headers={"Accept": accept})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].partition(";")[0] == accept
    assert response.headers["vary"] == "Accept, Accept-Encoding, Authorization, X-Fleetprof-Session"
    return response.content


def asked(route: str) -> dict[str, str]:
    return {"base_from": "now-1h", "base_to": "now"} if route == "diff" else {}


@pytest.mark.slow
def test_every_answer_is_also_columns(client: TestClient) -> None:
    for route in ROUTES:
        columns_are_those_of_the_document(client, route)


def columns_are_those_of_the_document(client: TestClient, route: str) -> None:
    document = json.loads(get(client, route, **asked(route)))
    with pa.ipc.open_stream(
        get(client, route, "application/vnd.apache.arrow.stream", **asked(route))
    ) as stream:
        table = stream.read_all()
    text = get(client, route, "text/csv", **asked(route)).decode()
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert lines[0] == table.column_names
    assert len(lines) - 1 == table.num_rows
    metadata = json.loads(table.schema.metadata[b"fleetprof"])
    if "selection" in document:
        assert metadata["selection"] == document["selection"]
        assert metadata.get("totals") == document.get("totals")
    if "rows" in document:
        assert table.num_rows == len(document["rows"]) > 0
        assert (
            metadata["remainder" if route != "diff" else "power"]
            == document["remainder" if route != "diff" else "power"]
        )


def test_columns_of_a_table_are_its_rows(client: TestClient) -> None:
    rows = json.loads(get(client, "table"))["rows"]
    with pa.ipc.open_stream(get(client, "table", "application/vnd.apache.arrow.stream")) as stream:
        table = stream.read_all()
    assert table["function"].to_pylist() == [row["key"]["function"] for row in rows]
    assert table["self"].to_pylist() == [row["self"] for row in rows]
    assert table["self_core_seconds.lo"].to_pylist() == [row["self_core_seconds"]["lo"] for row in rows]
    with duckdb.connect() as database:
        database.register("answer", table)
        (found,) = database.execute("SELECT sum(self) FROM answer").fetchall()
    assert found[0] == sum(row["self"] for row in rows)
    cells = csv.DictReader(io.StringIO(get(client, "table", "text/csv").decode(), newline=""))
    assert "'=HYPERLINK(1)" in {cell["function"] for cell in cells}


def test_nothing_has_the_same_columns(client: TestClient) -> None:
    arrow = "application/vnd.apache.arrow.stream"
    nothing = {"select": '{application="nobody"}'}
    for route in ("table", "labels", "stacks"):
        schemas = []
        for query in ({}, nothing):
            with pa.ipc.open_stream(get(client, route, arrow, **query)) as stream:
                schemas.append(stream.schema)
        assert schemas[0].equals(schemas[1]), route


# --- Which form ---------------------------------------------------------------------------------


def test_a_form_can_be_named_and_kept_as_a_file(client: TestClient) -> None:
    response = client.get("/api/v1/table", params={**RANGE, "format": "csv", "download": "1"})
    assert response.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert response.headers["content-disposition"] == 'attachment; filename="fleetprof-table.csv"'
    response = client.get("/api/v1/stacks", params={**RANGE, "format": "pprof", "download": "1"})
    assert response.headers["content-disposition"] == 'attachment; filename="fleetprof-stacks.pb.gz"'
    assert "content-encoding" not in response.headers
    assert gzip.decompress(response.content)


def test_what_there_is_not_is_a_problem(client: TestClient) -> None:
    for route, query, accept, status, said in (
        ("series", {}, "image/png", 406, "application/vnd.apache.arrow.stream and text/csv"),
        ("series", {}, PPROF, 406, "/api/v1/stacks"),
        ("series", {"format": "pprof"}, "*/*", 422, "json, arrow and csv"),
        (
            "table",
            {"format": "png"},
            "*/*",
            422,
            "json, arrow, csv, json-columns, pprof, collapsed and speedscope",
        ),
        ("stacks", {"download": "perhaps"}, "*/*", 422, "download=1 or download=0"),
        ("stacks", {"limit": "10001"}, "*/*", 400, "pprof"),
        ("stacks", {"labels": "function"}, "*/*", 400, "labels=application"),
        ("stacks", {"labels": "application,application"}, PPROF, 400, ""),
    ):
        response = client.get(f"/api/v1/{route}", params={**RANGE, **query}, headers={"Accept": accept})
        assert response.status_code == status
        assert response.headers["content-type"] == "application/problem+json"
        assert said in response.json()["hint"]


# --- Stacks -------------------------------------------------------------------------------------


def test_stacks_add_up_to_the_table(client: TestClient) -> None:
    document = json.loads(get(client, "stacks", limit="10000"))
    adapter(StacksAnswer).validate_python(document)
    table = json.loads(get(client, "table"))
    own: Counter = Counter()
    weight: dict = defaultdict(float)
    for row in document["rows"]:
        leaf = row["frames"][-1]
        key = leaf["function"], leaf["binary"]
        own[key] += row["units"]
        weight[key] += row["core_seconds"]["value"]
        assert row["lo"] <= row["share"] <= row["hi"]
    for row in table["rows"]:
        key = row["key"]["function"], row["key"]["binary"]
        assert own[key] == row["self"]
        assert weight[key] == pytest.approx(row["self_core_seconds"]["value"])
    assert sum(own.values()) == document["totals"]["units"]
    assert sum(row["samples"] for row in document["rows"]) == document["totals"]["samples"]
    shares = [row["share"] for row in document["rows"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)

    few = json.loads(get(client, "stacks", limit="7", labels="application"))
    assert few["rows_total"] == 7 + few["remainder"]["stacks"]
    assert sum(row["units"] for row in few["rows"]) + few["remainder"]["units"] == few["totals"]["units"]
    assert {row["key"]["application"] for row in few["rows"]} <= {"web", "batch"}


def test_pprof_has_the_totals_of_the_table(client: TestClient) -> None:
    for query in (
        {},
        {"labels": "application"},
        {"focus": "work"},
        {"hide": "run"},
        {"select": '{app="web"}'},
    ):
        profile = read(gzip.decompress(get(client, "stacks", PPROF, **query)))
        table = json.loads(get(client, "table", **{k: v for k, v in query.items() if k != "labels"}))
        assert rows_of(profile) == {
            (row["key"]["function"], row["key"]["file"], row["key"]["binary"]): (row["self"], row["total"])
            for row in table["rows"]
        }


def rows_of(profile) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(function, file, binary) → (self, total) of what was observed."""
    texts = profile.string_table
    binary_of = {mapping.id: texts[mapping.filename] for mapping in profile.mapping}
    functions = {function.id: function for function in profile.function}
    flat: Counter = Counter()
    cum: Counter = Counter()
    for sample in profile.sample:
        flat[sample.location_id[0]] += sample.value[1]
        for id_ in set(sample.location_id):
            cum[id_] += sample.value[1]
    return {
        (
            texts[functions[location.id].name],
            texts[functions[location.id].filename],
            binary_of.get(location.mapping_id, ""),
        ): (flat[location.id], cum[location.id])
        for location in profile.location
    }


def test_go_tool_pprof_shows_the_table(client: TestClient, tmp_path: Path) -> None:
    """By name, as it groups them; its cum of one name counts a sample once for both `work`s."""
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(get(client, "stacks", PPROF, labels="application"))
    rows = json.loads(get(client, "table"))["rows"]
    own: Counter = Counter()
    total: Counter = Counter()
    for row in rows:
        own[row["key"]["function"]] += row["self"]
        total[row["key"]["function"]] += row["total"]
    for order in ("-flat", "-cum"):
        text = go_pprof.ask(path, "-top", order, "-sample_index=cpu", "-unit=ns")
        shown = go_pprof.top(re.sub(r"(\d)ns\b", r"\1", text))
        assert set(shown) == set(own)
        for name, (flat, cum) in shown.items():
            assert flat == own[name]
            if name != "work":
                assert cum == total[name]
        assert sum(flat for flat, _ in shown.values()) == sum(own.values())
    top = go_pprof.ask(path, "-top")
    assert "Type: fleet_cpu" in top
    assert re.search(r"Duration: (1hrs|60mins|3600s)", top), top
    totals = json.loads(get(client, "table"))["totals"]
    assert "12 visits" in go_pprof.ask(path, "-comments")
    assert f"{totals['core_seconds']['value'] * 1e9:.6g}" in go_pprof.ask(path, "-comments")
    for report in ("-traces", "-raw", "-tree", "-peek=work", "-tags"):
        assert go_pprof.ask(path, report, "-sample_index=samples").strip(), report
    assert "application" in go_pprof.ask(path, "-tags")


def test_collapsed_stacks_and_speedscope_have_the_totals(client: TestClient) -> None:
    totals = json.loads(get(client, "table"))["totals"]
    wanted = {
        "samples": totals["samples"],
        "observed": totals["units"],
        "estimate": totals["core_seconds"]["value"] * 1e9,
    }
    for value, total in wanted.items():
        text = get(client, "stacks", COLLAPSED, value=value).decode()
        lines = text.splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in lines) == pytest.approx(total, abs=len(lines))
        assert "run:it" in text
        assert "do_syscall_64_[k]" in text
        file = json.loads(get(client, "stacks", "application/vnd.speedscope+json", value=value))
        assert file["profiles"][0]["endValue"] == pytest.approx(total, abs=len(lines))
    below = get(client, "stacks", COLLAPSED, labels="application,version").decode().splitlines()
    assert {tuple(line.split(";")[:2]) for line in below} == {("web", "2"), ("batch", "2")}


def test_a_flame_graph_is_the_stacks_it_shows(client: TestClient) -> None:
    def sums(route: str, **query) -> Counter:
        found: Counter = Counter()
        for line in get(client, route, COLLAPSED, **query).decode().splitlines():
            path, _, count = line.rpartition(" ")
            found[path] += int(count)
        return found

    whole = sums("stacks")
    assert sums("flame", nodes="200000") == pytest.approx(whole, abs=2)
    few = sums("flame", nodes="5")
    assert sum(few.values()) == pytest.approx(sum(whole.values()), abs=len(whole))
    assert any(path.endswith(";[cut off]") or path == "[cut off]" for path in few)
    profile = read(gzip.decompress(get(client, "flame", PPROF, nodes="5")))
    assert [profile.string_table[kind.type] for kind in profile.sample_type] == ["cpu", "fleet_cpu"]
    assert (
        sum(sample.value[0] for sample in profile.sample)
        == json.loads(get(client, "table"))["totals"]["units"]
    )
    flame = json.loads(get(client, "flame"))
    top = flame["functions"][flame["nodes"]["function"][1]]
    below = sums("flame", nodes="200000", root=str(top["id"]))
    name = top["name"].replace(";", ":")
    assert all(path.split(";")[0].removesuffix("_[k]") == name for path in below)
    assert sum(below.values()) == pytest.approx(flame["nodes"]["total"][1] * 1e9, rel=1e-6)
    response = client.get("/api/v1/flame", params={**RANGE, "invert": "true", "format": "pprof"})
    assert response.status_code == 400


def test_what_is_beyond_the_limit_is_stated(client: TestClient) -> None:
    whole = json.loads(get(client, "stacks"))
    text = get(client, "stacks", COLLAPSED, limit="5", value="observed").decode().splitlines()
    assert len(text) == 6
    assert text[-1].startswith("[stacks left out] ")
    assert sum(int(line.rpartition(" ")[2]) for line in text) == whole["totals"]["units"]
    profile = read(gzip.decompress(get(client, "stacks", PPROF, limit="5")))
    assert sum(sample.value[1] for sample in profile.sample) == whole["totals"]["units"]
    assert any("left out" in profile.string_table[comment] for comment in profile.comment)


def test_parts_are_compressed_on_their_way(client: TestClient) -> None:
    zipped = {"Accept": COLLAPSED, "Accept-Encoding": "gzip"}
    response = client.get("/api/v1/stacks", params=RANGE, headers=zipped)
    assert response.headers["content-encoding"] == "gzip"
    plain = client.get("/api/v1/stacks", params=RANGE, headers={**zipped, "Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == response.text


def test_no_more_files_are_sent_at_once_than_may_be(
    filled: Engine, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):  # a place is given back each time
        get(client, "stacks", PPROF, limit="1")
    monkeypatch.setattr("services.api.profiles.query_handler._SENT_AT_ONCE", 0)
    queries = QueryEngine(filled)
    access = access_of(tmp_path / "state", [f"viewer:{TOKEN}"])
    with TestClient(
        create_app(queries, access, static=tmp_path),
        base_url="http://127.0.0.1:7070",
        headers={"Authorization": f"Bearer {TOKEN}"},
    ) as full:
        response = full.get("/api/v1/stacks", params={**RANGE, "format": "pprof"})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "5"
        assert full.get("/api/v1/stacks", params=RANGE).status_code == 200
    queries.close()
