"""GIVEN a server set as Prometheus WHEN it is asked for request rates THEN only one series of numbers from it will do."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from services.commands.reports.prometheus_rates import request_rates
from services.errors import NoRates


class _Prometheus(BaseHTTPRequestHandler):
    status: ClassVar[int] = 200
    body: ClassVar[bytes] = b""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(self.status)
        if self.status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    _Prometheus.asked.clear()
    with HTTPServer(("127.0.0.1", 0), _Prometheus) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/at"
        http.shutdown()
        thread.join()


def says(status: int, body: object) -> None:
    _Prometheus.status = status
    _Prometheus.body = body if isinstance(body, bytes) else json.dumps(body).encode()


def matrix(*series: list) -> dict:
    result = [{"metric": {}, "values": values} for values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def test_the_series_is_asked_for_finer_than_its_steps(server: str):
    says(200, matrix([[1000, "1.5"], [1180.5, "2"], [1360, "NaN"]]))
    points = request_rates(server, 'sum(rate(x{a="b"}[5m]))', 1000, 8200, 3600)
    assert points[:2] == [(1000.0, 1.5), (1180.5, 2.0)]
    (path,) = _Prometheus.asked
    url = urlsplit(path)
    assert url.path == "/at/api/v1/query_range"
    assert parse_qs(url.query) == {
        "query": ['sum(rate(x{a="b"}[5m]))'],
        "start": ["1000"],
        "end": ["8020"],
        "step": ["180"],
    }


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (200, matrix([[1, "1"]], [[1, "2"]]), "returns 2 series instead of one"),
        (200, matrix(), "no value in this time"),
        (200, {"status": "error", "error": "parse error: x"}, "parse error: x"),
        (200, {"status": "success"}, "not have Prometheus' format"),
        (200, matrix([["soon", "1"]]), "not have Prometheus' format"),
        (200, [], "not have Prometheus' format"),
        (200, b"<html>", "is not JSON"),
        (400, b"bad query", "returned 400: bad query"),
        (302, b"", "returned 302"),
    ],
)
def test_anything_else_is_told(server: str, status: int, body: object, why: str):
    says(status, body)
    with pytest.raises(NoRates, match=why):
        request_rates(server, "up", 0, 3600, 3600)
    assert len(_Prometheus.asked) == 1, "nobody is asked elsewhere"


def test_a_server_that_is_not_there_is_told():
    with pytest.raises(NoRates, match="Cannot query Prometheus"):
        request_rates("http://127.0.0.1:1", "up", 0, 3600, 3600)
