"""GIVEN the real app over a real store WHEN strangers ask what they like THEN every answer is one that is described."""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.testclient import TestClient

from services.api.problems import MEDIA_TYPE, ProblemDocument
from storage.database import open_engine
from tests.api_fuzzing import BASE, ask_everything, kind_of, operations, whole_app

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    # Hypothesis says so of its own generator, where it is the first in its process to be asked outside of a test.
    pytest.mark.filterwarnings("ignore:It looks like .register_random.:hypothesis.errors.HypothesisWarning"),
]

EXAMPLES = 3
"""Of each operation, as its description allows and as it does not. `make fuzz-api` asks more."""
MET = {
    "views": {"bad-selection", "bad-parameter"},
    "models": {"bad-selection", "bad-parameter"},
    "data": {"bad-selection", "bad-parameter"},
    "symbols": {"bad-parameter", "unknown", "unusable-file"},
    "fleet": {"bad-parameter", "unknown-machine", "unknown-campaign"},
}
"""Problems that have to be met of each kind of route: a run that is only told of wrong parameters has asked nothing."""
VIEWER = "a-viewers-token-111111"
PUBLIC = {"/login", "/api/v1/sign-in"}
"""Callers without a session sign in here."""
OF_ITS_OWN_ROLE = {"/api/v1/login-links"}
"""Every caller with a token may do this, up to its role."""


@pytest.fixture
def whole(engine: Engine, tmp_path: Path) -> Iterator[tuple[FastAPI, Mapping[str, str]]]:
    with whole_app(engine, tmp_path, viewer=VIEWER) as made:
        yield made


def test_every_answer_is_one_that_the_description_has(whole: tuple[FastAPI, Mapping[str, str]]):
    app, headers = whole
    heard = ask_everything(app, headers, examples=EXAMPLES)
    assert heard.failures == {}
    described = {f"{method} {path}" for method, path, _ in operations(app)}
    assert {operation for operation, _ in heard.answers} == described
    well = {operation for operation, status in heard.answers if status == 200}
    assert len(well) > len(described) / 2, "most are asked something that has an answer, too"
    assert {kind_of(operation) for operation in well} == set(MET)
    met = {(kind, name) for kind, _, name in heard.problems}
    assert {(kind, name) for kind, names in MET.items() for name in names} <= met
    assert "unknown-campaign" in {name for _, name in met}


def test_without_its_database_every_answer_is_still_one_of_them(tmp_path: Path):
    nowhere = open_engine(f"postgresql://unused@/none?host={tmp_path}", application="strangers")
    with whole_app(nowhere, tmp_path, with_data=False) as (app, headers):
        heard = ask_everything(app, headers, examples=1, away=True)
    assert heard.failures == {}
    # What passes no question to the database may be answered: nothing else was.
    asked = {operation for operation, status in heard.answers if status == 503}
    assert len(asked) > len(list(operations(app))) / 2
    nowhere.dispose()


class Caller:
    """Sends one request of each operation, and holds the answer to its description."""

    def __init__(self, app: FastAPI, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers
        self.client = TestClient(app, base_url=BASE, raise_server_exceptions=False)

    def send(self, method: str, path: str, **changes: Any) -> Any:
        for part in ("{key}", "{sha256}"):
            path = path.replace(part, "0" * 64)
        return self.client.request(method, path, **({"headers": self.headers} | changes))

    def refused(self, status: int, method: str, path: str, **changes: Any) -> ProblemDocument:
        response = self.send(method, path, **changes)
        assert response.status_code == status, (method, path, response.text)
        assert response.headers["content-type"] == MEDIA_TYPE
        document = ProblemDocument.model_validate(response.json())
        assert document.status == status
        assert document.request_id == response.headers["x-request-id"]
        assert document.detail
        return document


@pytest.fixture(scope="module")
def caller(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """One for all tests below: none changes what another looks at."""
    with whole_app(module_engine, tmp_path_factory.mktemp("whole"), viewer=VIEWER) as made:
        yield Caller(*made)


def test_nobody_is_answered_without_a_token_nor_changes_anything_as_a_viewer(caller: Caller):
    for method, path, described in operations(caller.app):
        if path in PUBLIC:
            continue
        assert "401" in described["responses"], path
        caller.refused(401, method, path, headers={})
        caller.refused(401, method, path, headers={"Authorization": "Bearer of-nobody"})
        if method != "GET" and path not in OF_ITS_OWN_ROLE:
            assert "403" in described["responses"], path
            caller.refused(403, method, path, headers={"Authorization": f"Bearer {VIEWER}"})


def test_a_foreign_host_a_foreign_page_and_a_foreign_method_are_refused_everywhere(caller: Caller):
    for method, path, _ in operations(caller.app):
        caller.refused(421, method, path, headers={**caller.headers, "Host": "evil.example"})
        if method != "GET":
            caller.refused(403, method, path, headers={**caller.headers, "Origin": "https://evil.example"})
        caller.refused(405, "PUT", path)
    caller.refused(404, "GET", "/api/v1/no-such-route")


def test_what_no_route_takes_is_refused_everywhere(caller: Caller):
    for method, path, described in operations(caller.app):
        document = caller.refused(422, method, f"{path}?no_such=1")
        assert (document.type, document.parameter) == ("urn:fleetprof:problem:bad-parameter", "no_such")
        if path not in PUBLIC:
            caller.refused(401, method, f"{path}?no_such=1", headers={})
        for parameter in described.get("parameters", []):
            if parameter["in"] == "query" and parameter["schema"].get("type") != "array":
                name = parameter["name"]
                assert caller.refused(422, method, f"{path}?{name}=1&{name}=1").parameter == name


def test_a_body_that_nothing_reads_is_refused_before_it_is_read(caller: Caller):
    for method, path, described in operations(caller.app):
        if "requestBody" not in described:
            caller.refused(413, method, path, content=b"x" * 100_000)


def test_an_upload_says_what_is_wrong_with_its_body(caller: Caller):
    uploads = [
        (method, path, described)
        for method, path, described in operations(caller.app)
        if "requestBody" in described and "application/json" not in described["requestBody"]["content"]
    ]
    assert len(uploads) >= 2
    for method, path, described in uploads:
        assert {"400", "408", "413", "415", "422", "507"} <= described["responses"].keys()
        named = {each["name"]: "x" for each in described["parameters"] if each["schema"]["type"] == "string"}
        to = (method, f"{path}?{urlencode(named)}")

        def refused(status: int, content: bytes, encoding: str, at: tuple[str, str] = to) -> None:
            headers = {**caller.headers, "Content-Encoding": encoding}
            caller.refused(status, *at, content=content, headers=headers)

        refused(415, b"x", "br")
        refused(400, b"", "identity")
        refused(400, b"no gzip at all", "gzip")
        refused(400, gzip.compress(b"x" * 10_000)[:-12], "gzip")
        refused(400, b"\x28\xb5\x2f\xfd no frame", "zstd")
        refused(422, b"neither an ELF file nor a tar archive", "identity")


def test_what_no_form_of_an_answer_can_be_is_refused_where_the_description_says_so(caller: Caller):
    asked = 0
    for method, path, described in operations(caller.app):
        if "406" in described["responses"]:
            response = caller.send(method, path, headers={**caller.headers, "Accept": "image/png"})
            # What is wrong with the question may be said first.
            assert response.status_code in {406, 400, 422}, (path, response.text)
            asked += response.status_code == 406
    assert asked > 3


def test_every_form_that_the_description_names_is_had(caller: Caller):
    """By Accept; the answer is of that form, or a problem."""
    forms = 0
    for method, path, described in operations(caller.app):
        for media_type in described["responses"].get("200", {}).get("content", {}):
            if method != "GET":
                continue
            response = caller.send(method, path, headers={**caller.headers, "Accept": media_type})
            assert response.status_code < 500, (path, media_type, response.text)
            found = response.headers["content-type"].partition(";")[0]
            assert found in {media_type.partition(";")[0], MEDIA_TYPE}, (path, media_type)
            forms += found != MEDIA_TYPE
    assert forms > 10


STRANGE = ("a\0", '{comm="a\0b",machine=~"\0"}', "\ud800\u202e\x1b[2J'%_" + "é" * 2000)


def test_no_text_is_too_strange(caller: Caller):
    """Every parameter that takes text, with text that a database, a log or a regular expression may choke on."""
    for method, path, described in operations(caller.app):
        for parameter in described.get("parameters", []):
            schema = parameter["schema"]
            if parameter["in"] != "query" or "string" not in str(schema):
                continue
            for text in STRANGE:
                query = urlencode({parameter["name"]: text}, errors="surrogatepass")
                response = caller.send(method, f"{path}?{query}", content=b"" if method == "POST" else None)
                assert response.status_code < 500, (path, parameter["name"], text, response.text)
                assert str(response.status_code) in described["responses"], (path, parameter["name"], text)
