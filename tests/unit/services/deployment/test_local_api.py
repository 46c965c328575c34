"""GIVEN the API of a running `up` WHEN its end is told THEN no answer from before is taken."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from services.deployment.local_api import LocalApi
from services.errors import NotRunning
from storage.query.answers.answer import as_document
from storage.query.answers.status import CapturesStatus, StatusAnswer
from storage.query.answers.table import TableAnswer
from tests.filled_answers import filled

STATUS = filled(StatusAnswer, captures=filled(CapturesStatus, waiting=3))
asked: list[tuple[str, str | None]] = []


class _Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked.append((self.path.partition("?")[0], self.headers["Cache-Control"]))
        self.send_response(200 if self.headers["Authorization"] == "Bearer secret" else 401)
        self.end_headers()
        answer = STATUS if self.path.startswith("/api/v1/status") else filled(TableAnswer)
        self.wfile.write(json.dumps(as_document(answer)).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    asked.clear()
    with HTTPServer(("127.0.0.1", 0), _Api) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def test_what_waits_is_never_what_waited(url: str) -> None:
    assert LocalApi(url, "secret").waiting() == 3
    assert asked == [("/api/v1/status", "no-cache")]
    assert LocalApi(url, "secret").status() == STATUS


def test_the_last_table_is_asked_anew_and_those_before_need_not_be(url: str) -> None:
    api = LocalApi(url, "secret")
    for uncached in (False, True):
        api.table(datetime(2026, 11, 22, tzinfo=UTC), 5, uncached=uncached)
    assert asked == [("/api/v1/table", None), ("/api/v1/table", "no-cache")]


def test_an_api_that_refuses_says_how(url: str) -> None:
    api = LocalApi(url, "other")
    assert api.waiting() is None
    with pytest.raises(NotRunning, match="401"):
        api.get("status")
