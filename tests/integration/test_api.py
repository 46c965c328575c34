"""The API over HTTP: what it answers, to whom, and what it says when it does not."""

import json
import re
import struct
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.app import create_app
from services.api.auth import Access, mint_login_url, parse_tokens
from services.api.home import HOME
from services.api.kept_answers import KeptAnswers
from services.api.problems import ProblemDocument
from services.api.profiles.call_graph import CallGraphAnswer
from services.api.profiles.callers import CallersAnswer
from services.api.profiles.diff import DiffAnswer
from services.api.profiles.flame import FlameAnswer
from services.api.profiles.flame_diff import FlameDiffAnswer
from services.api.profiles.labels import LabelsAnswer
from services.api.profiles.lines import LinesAnswer
from services.api.profiles.movers import MoversAnswer
from services.api.profiles.reliability import ReliabilityAnswer
from services.api.profiles.series import SeriesAnswer
from services.api.profiles.shared_code import SharedCodeAnswer, UsersAnswer
from services.api.profiles.status import StatusAnswer
from services.api.profiles.table import TableAnswer
from storage.database import open_engine
from storage.query.engine import QueryEngine
from tests.designed import Campaign
from tests.facts import FactWriter
from tests.golden_answers import check_golden

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
RANGE = {"from": "2026-11-21T11:00:00Z", "to": "2026-11-21T13:00:00Z"}
TOKEN = "t" * 24
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BASE = "http://127.0.0.1:7070"


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>the page</title>")
    (folder / "assets" / "main-1a2b.js").write_text("start()")
    (tmp_path / "secret.txt").write_text("not for everybody")
    return folder


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path / "state", parse_tokens([f"viewer:{TOKEN}"]))


@pytest.fixture
def anyone(engine: Engine, access: Access, static: Path):
    """A client without a session."""
    queries = QueryEngine(engine)
    with TestClient(
        create_app(queries, access, static=static, allowed_hosts=["fleet.example"]), base_url=BASE
    ) as client:
        yield client
    queries.close()


@pytest.fixture
def client(anyone: TestClient):
    """A client with a token."""
    anyone.headers.update(BEARER)
    return anyone


@pytest.fixture
def samples(engine: Engine) -> None:
    with engine.begin() as connection:
        write = FactWriter(connection)
        main = write.function("main", file="m.c", binary="prog")
        memcpy = write.function("memcpy", binary="libc.so.6", status=2)
        nameless = write.function("libz.so+0x40", binary="libz.so", status=1, start=("abc", 64))
        stacks = [write.stack(frames) for frames in ([main], [main, memcpy], [main, nameless])]
        labels = {"application": "prog", "platform": "Zen 3", "comm": "prog"}
        write.profile(write.visit("m1", NOON), dict(zip(stacks, (50, 30, 20), strict=True)), labels=labels)
        write.profile(write.visit("m2", NOON), {stacks[0]: 100}, labels={**labels, "application": "other"})


def problem(response, status: int) -> dict:
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    document = ProblemDocument.model_validate(response.json())
    assert document.status == status
    assert document.request_id == response.headers["x-request-id"]
    return response.json()


# --- Answers ------------------------------------------------------------------------------------


def test_the_first_visitor_of_the_home_page_does_not_wait(engine: Engine, access: Access, static: Path):
    queries, kept = QueryEngine(engine), KeptAnswers(1 << 20, fresh_s=3600.0)
    with TestClient(create_app(queries, access, static=static, kept=kept), base_url=BASE) as client:
        deadline = time.monotonic() + 30
        while kept.size.rows < len(HOME):
            assert time.monotonic() < deadline, "the page's questions were not asked"
            time.sleep(0.02)
        assert (kept.hits, kept.misses) == (0, 0), "this process is no visitor"
        for path, query, accept in HOME:
            headers = {**BEARER, "Accept": accept, "Accept-Encoding": "gzip, deflate, br, zstd"}
            assert client.get(f"{path}?{query}", headers=headers).status_code == 200
    assert (kept.hits, kept.misses) == (len(HOME), 0)
    queries.close()


def test_the_table_is_what_its_description_says(client: TestClient, samples: None):
    answer = client.get("/api/v1/table", params=RANGE).json()
    TableAnswer.model_validate(answer)
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
    FlameAnswer.model_validate(answer)
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
    _, _, count, size = struct.unpack_from("<4s3I", response.content)
    assert json.loads(response.content[16 : 16 + size]) == {k: v for k, v in as_json.items() if k != "nodes"}
    columns = struct.unpack_from(f"<{2 * count}d{2 * count}i", response.content, 16 + size)
    parts = [list(columns[i * count : (i + 1) * count]) for i in range(4)]
    assert parts == [as_json["nodes"][name] for name in ("total", "self", "parent", "function")]


@pytest.fixture
def fleet(engine: Engine) -> None:
    """Two strata, one hour: 12 visits of 5 s each, idle ones and failed ones among them."""
    start = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100, "west": 20}, random=Random(1))
        write = campaign.write
        main, work = write.function("main", file="m.c", binary="prog"), write.function("work", binary="prog")
        stacks = [write.stack([main]), write.stack([main, work])]
        for number in range(12):
            at = start + timedelta(minutes=5 * number)
            where = ("east", "west")[number % 2]
            if number % 5 == 4:
                campaign.fail(at, where, utilisation=0.9)
                continue
            visit = campaign.answer(at, where, utilisation=0.9 if number % 3 else 0.1, machine=f"m{number}")
            if number % 4:
                samples = dict(zip(stacks, (10 * number, 7), strict=True))
                lines = {(main, 12): (10 * number, 10 * number + 7), (work, 5): (3, 3)}
                write.profile(visit, samples, labels={"application": "prog"}, lines=lines)


DESIGNED = {"from": "2026-11-18T12:00:00Z", "to": "2026-11-18T13:00:00Z"}
MODELS = {
    "table": TableAnswer,
    "flame": FlameAnswer,
    "call-graph": CallGraphAnswer,
    "series": SeriesAnswer,
    "labels": LabelsAnswer,
    "diff": DiffAnswer,
    "flame-diff": FlameDiffAnswer,
    "movers": MoversAnswer,
    "reliability": ReliabilityAnswer,
    "callers": CallersAnswer,
    "lines": LinesAnswer,
    "shared-code": SharedCodeAnswer,
    "shared-code/users": UsersAnswer,
}


@pytest.mark.parametrize(
    ("name", "route", "query"),
    [
        ("table", "table", {}),
        ("table-by-application", "table", {"by": "application"}),
        ("table-focus", "table", {"focus": "work", "limit": "1"}),
        ("flame", "flame", {}),
        ("flame-inverted", "flame", {"invert": "true", "by": "application", "min_share": "0.3"}),
        ("call-graph", "call-graph", {}),
        ("series", "series", {"by": "function", "step": "30m", "limit": "1"}),
        ("labels", "labels", {"limit": "2"}),
        ("diff", "diff", {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"}),
        (
            "flame-diff",
            "flame-diff",
            {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"},
        ),
        ("movers", "movers", {"base_from": "2026-11-18T12:00:00Z", "base_to": "2026-11-18T12:30:00Z"}),
        ("reliability", "reliability", {}),
        ("table-by-line", "table", {"by": "function,line"}),
        ("callers", "callers", {"function": "main", "focus": "work"}),
        ("lines", "lines", {"file": "m.c"}),
        ("shared-code", "shared-code", {"applications": "1", "cold": "1", "saving": "0.5"}),
        ("shared-code-users", "shared-code/users", {"function": '{binary="prog",function!="main"}'}),
    ],
)
def test_answers_are_what_they_were(client: TestClient, fleet: None, name: str, route: str, query: dict):
    """Inputs are `fleet`; figures may differ in the last digits. A wanted change: FLEETPROF_WRITE_GOLDEN=1."""
    answer = client.get(f"/api/v1/{route}", params={**DESIGNED, **query}).json()
    MODELS[route].model_validate(answer)
    check_golden(name, answer)


def test_a_diff_needs_a_base(client: TestClient, fleet: None):
    assert "base_from" in problem(client.get("/api/v1/diff", params=DESIGNED), 422)["detail"]
    wrong = {**DESIGNED, "base_from": "now", "base_to": "now-1h"}
    assert "empty" in problem(client.get("/api/v1/diff", params=wrong), 400)["detail"]


def test_the_price_is_told(engine: Engine, access: Access, static: Path):
    queries = QueryEngine(engine)
    app = create_app(queries, access, static=static, price_per_core_hour=0.04)
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        assert client.get("/api/v1/status").json()["price_per_core_hour"] == 0.04
    queries.close()


def test_money_is_told_at_the_price(engine: Engine, access: Access, static: Path, fleet: None):
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
    LabelsAnswer.model_validate(labels)
    by_name = {label["name"]: label["values"] for label in labels["labels"]}
    assert [(v["value"], v["share"]) for v in by_name["application"]] == [("other", 0.5), ("prog", 0.5)]
    assert set(by_name) == {"application", "platform", "machine", "comm"}
    status = client.get("/api/v1/status").json()
    StatusAnswer.model_validate(status)
    assert status["latest"] == "2026-11-21T12:00:00Z"
    assert status["machines"] == {"enabled": 2, "total": 2}
    assert status["events"] == [{"event": "cpu", "unit": "nanoseconds"}]


def test_large_answers_are_compressed_for_who_can_read_it(client: TestClient, engine: Engine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function(f"function_{i}") for i in range(50)])
        write.profile(write.visit("m1", NOON), {stack: 1})
    client.headers["Accept-Encoding"] = "gzip"
    zipped = client.get("/api/v1/flame", params=RANGE)
    assert zipped.headers["content-encoding"] == "gzip"
    client.headers["Accept-Encoding"] = "identity"
    plain = client.get("/api/v1/flame", params=RANGE)
    assert "content-encoding" not in plain.headers
    assert plain.json() == zipped.json()
    assert int(zipped.headers["content-length"]) < len(plain.content)


# --- Problems -----------------------------------------------------------------------------------


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
        ({"from": "yesterday"}, 400, "not a time"),
        ({"from": "2026-11-21T11:00:00"}, 400, "no zone"),
        ({"from": "now", "to": "now-1h"}, 400, "empty"),
        ({"focus": "("}, 400, "not valid"),
        ({"select": '{a=~"(x+x+)+y\\\\1"}'}, 400, "not valid"),
        ({"event": "nothing"}, 400, "Nobody has sampled"),
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
        ({"by": "self.function"}, 400, "is not a label of profiles"),
    ],
)
def test_problems_say_what_to_change(client: TestClient, samples: None, query: dict, status: int, said: str):
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


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from(["table", "flame", "labels", "diff", "reliability"]),
    query=st.dictionaries(st.sampled_from(_NAMES), _WORDS, max_size=4),
)
def test_no_question_is_our_mistake(client: TestClient, samples: None, route: str, query: dict[str, str]):
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
    engine = open_engine("postgresql://nobody@/nothing?host=/nonexistent", application="test")
    queries = QueryEngine(engine)
    with TestClient(create_app(queries, access, static=static), base_url=BASE, headers=BEARER) as client:
        response = client.get("/api/v1/table")
        problem(response, 503)
        assert response.headers["retry-after"] == "2"
        refused = client.get("/readyz")
        problem(refused, 503)
        assert "nonexistent" not in refused.text, "its caller is not of this machine"
        assert client.get("/healthz").status_code == 200
        assert "fleetprof_database_up 0.0" in client.get("/metrics").text
    queries.close()
    engine.dispose()


def test_a_mistake_of_ours_is_a_problem_document_too(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(QueryEngine, "ask", lambda self, question: 1 / 0)
    document = problem(client.get("/api/v1/status"), 500)
    assert "division" not in document["detail"]


# --- Who may ask --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/v1/table", "/api/v1/flame", "/api/v1/labels", "/api/v1/status"])
def test_strangers_get_no_data(anyone: TestClient, path: str):
    assert "fleetprof url" in problem(anyone.get(path), 401)["hint"]
    problem(anyone.get(path, headers={"Authorization": "Bearer " + "x" * 24}), 401)
    problem(anyone.get(path, headers={"Authorization": "Basic " + TOKEN}), 401)
    problem(anyone.get(path, headers={"Cookie": "fleetprof_session=admin.99999999999.x.y"}), 401)


def test_a_link_signs_in_once(anyone: TestClient, tmp_path: Path):
    link = urlsplit(mint_login_url(tmp_path / "state", BASE))
    response = anyone.get(f"{link.path}?{link.query}", follow_redirects=False)
    assert (response.status_code, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    assert cookie.startswith("fleetprof_session=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert anyone.get("/api/v1/status").status_code == 200
    again = anyone.get(f"{link.path}?{link.query}")
    assert again.status_code == 403
    assert "used already" in again.text
    assert "fleetprof url" in again.text


@pytest.mark.parametrize("token", ["", "x", "1.2.3", "é", "a" * 10_000])
def test_invented_links_sign_nobody_in(anyone: TestClient, token: str):
    response = anyone.get("/login", params={"token": token})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "[::1"]
)
def test_a_foreign_name_is_refused(client: TestClient, host: str):
    problem(client.get("/api/v1/status", headers={"Host": host}), 421)
    problem(client.get("/", headers={"Host": host}), 421)
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7070", "127.0.0.1:1", "[::1]:7070", "fleet.example:443"]
)
def test_own_names_are_answered(client: TestClient, host: str):
    assert client.get("/api/v1/status", headers={"Host": host}).status_code == 200


# --- Pages and probes ---------------------------------------------------------------------------


def test_the_page_answers_for_every_place_in_it(anyone: TestClient):
    for path in ("/", "/q", "/fn/17", "/index.html"):
        response = anyone.get(path)
        assert ("the page" in response.text) == (path != "/index.html") or response.status_code == 404
    assert anyone.get("/").headers["cache-control"] == "no-cache"
    asset = anyone.get("/assets/main-1a2b.js")
    assert asset.text == "start()"
    assert "immutable" in asset.headers["cache-control"]
    problem(anyone.get("/assets/gone.js"), 404)


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/x%00.js", f"/{'x' * 300}.js"],
)
def test_files_beside_the_page_stay_there(anyone: TestClient, path: str):
    response = anyone.get(path)
    assert "not for everybody" not in response.text
    assert response.status_code in {200, 404}


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
    problem(anyone.get("/metrics"), 401)  # the test client calls itself "testclient": not this machine
    text = anyone.get("/metrics", headers=BEARER).text
    assert 'fleetprof_http_request_seconds_count{method="GET",route="/api/v1/table",status="401"} 1.0' in text
    assert "fleetprof_captures_waiting 0.0" in text
    assert re.search(r"^fleetprof_days_unfolded [0-9]", text, re.MULTILINE)
    assert 'fleetprof_cache_rows{cache="stacks"} 3.0' in text
    assert re.search(r'fleetprof_cache_bytes\{cache="functions"\} [1-9]', text)
    assert re.search(r"^process_resident_memory_bytes [1-9]", text, re.MULTILINE)
    assert "fleetprof_database_up 1.0" in text


def test_a_node_is_drawn_by_the_way_to_it(client: TestClient, samples: None):
    whole = client.get("/api/v1/flame", params=RANGE).json()
    ids = [whole["functions"][function]["id"] for function in whole["nodes"]["function"]]
    below = client.get("/api/v1/flame", params={**RANGE, "root": f"{ids[1]},{ids[2]}"}).json()
    FlameAnswer.model_validate(below)
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


def test_a_series_is_had_as_rows_of_points(client: TestClient, fleet: None):
    query = {**DESIGNED, "by": "application", "step": "20m"}
    answer = client.get("/api/v1/series", params=query).json()
    rows = client.get("/api/v1/series", params={**query, "format": "csv"}).text.splitlines()
    assert len(rows) == 1 + sum(len(line["points"]) for line in answer["lines"]) == 1 + 3 * 3
    assert (
        "step" in problem(client.get("/api/v1/series", params={**query, "step": "5"}), 400)["detail"] + "step"
    )
    assert "points" in problem(client.get("/api/v1/series", params={**query, "step": "1s"}), 400)["detail"]


def test_movers_compare_the_last_whole_day_with_the_day_before(client: TestClient, fleet: None):
    answer = client.get("/api/v1/movers", params={"select": '{app="prog"}'}).json()
    MoversAnswer.model_validate(answer)
    start, end = (datetime.fromisoformat(answer["selection"][name]) for name in ("from", "to"))
    assert end - start == timedelta(days=1)
    assert (end.hour, end.minute, end.second, end.microsecond) == (0, 0, 0, 0)
    assert end <= datetime.now(UTC)
    assert answer["base"]["to"] == answer["selection"]["from"]
    assert answer["unsaid"]["reason"] == "too_little"
    week = client.get("/api/v1/movers", params={**DESIGNED, "before": "1w"}).json()
    assert week["base"]["from"] == "2026-11-11T12:00:00Z"
    told = problem(client.get("/api/v1/movers", params={**DESIGNED, "before": "soon"}), 400)
    assert "length of time" in told["detail"]
    told = problem(client.get("/api/v1/movers", params={**DESIGNED, "base_from": "now-1d"}), 400)
    assert "time" in told["detail"]


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
