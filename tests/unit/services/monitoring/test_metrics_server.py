"""GIVEN a process that answers probes WHEN it is asked, well or badly THEN it answers what is so, and goes on."""

import json
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from services.errors import CannotStart, NotRunning
from services.monitoring.metrics_address import MetricsAddress
from services.monitoring.metrics_server import MetricsServer
from services.monitoring.probe_client import is_ok, probe
from services.monitoring.readiness import Readiness


class Process:
    def __init__(self, address: MetricsAddress) -> None:
        self.now = 0.0
        self.wrong: str | None = None
        self.asked = 0
        readiness = Readiness({"database": self.check, "pool": lambda: None}, clock=lambda: self.now)
        self.server = MetricsServer(address, readiness, lambda: b"up 1\n")
        self.address = self.server.address
        self.server.start()

    def check(self) -> str | None:
        self.asked += 1
        return self.wrong


@pytest.fixture(params=["tcp", "unix"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    address = (
        MetricsAddress(host="127.0.0.1")
        if request.param == "tcp"
        else MetricsAddress(path=tmp_path / "o.sock")
    )
    made = Process(address)
    yield made
    made.server.close()


def test_alive_is_not_ready(process: Process):
    assert probe(process.address, "/readyz") == (200, '{"status": "ready", "failing": {}}\n')
    process.wrong = "It is away."
    process.now = 10.0
    status, text = probe(process.address, "/readyz")
    assert status == 503
    assert '"database"' in text
    assert is_ok(process.address, "/healthz")
    assert not is_ok(process.address, "/readyz")


def readiness_of(process: Process, *headers: str) -> str:
    """What fails, and why, as a caller with these headers is told."""
    with connect(process.address) as caller:
        caller.sendall("".join(f"{line}\r\n" for line in ("GET /readyz HTTP/1.1", *headers, "")).encode())
        _, _, body = b"".join(iter(lambda: caller.recv(4096), b"")).decode().partition("\r\n\r\n")
    assert json.loads(body)["failing"].keys() == {"database"}
    return body


@pytest.mark.parametrize(
    "header",
    ["Host: localhost", "Forwarded: for=10.0.0.7", "Via: 1.1 proxy", "x-forwarded-for: 10.0.0.7", "X-Forwarded-Host: a",
     "X-Forwarded-Proto: https", "X-Real-IP: 10.0.0.7"],
)  # fmt: skip
def test_what_is_wrong_is_said_over_its_users_socket_alone(process: Process, header: str):
    process.wrong = "No password for app@db.example."
    said = readiness_of(process, header)
    assert ("example" in said) == (process.address.path is not None and header.startswith("Host"))


def test_what_is_wrong_is_said_to_the_log(process: Process, caplog: pytest.LogCaptureFixture):
    process.wrong = "No password for app@db.example."
    probe(process.address, "/readyz")
    process.now = 10.0
    probe(process.address, "/readyz")
    process.wrong, process.now = None, 20.0
    probe(process.address, "/readyz")
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["not ready: database: No password for app@db.example."], "once, not at every probe"


def test_who_asks_all_the_time_causes_no_more_work(process: Process):
    for _ in range(5):
        probe(process.address, "/readyz")
    assert process.asked == 1
    process.now = 1.5
    probe(process.address, "/readyz")
    assert process.asked == 2


def test_metrics_and_what_is_not_there(process: Process):
    assert probe(process.address, "/metrics") == (200, "up 1\n")
    assert probe(process.address, "/metrics?name=x")[0] == 200
    assert probe(process.address, "/api/v1/table")[0] == 404


def connect(address: MetricsAddress) -> socket.socket:
    if address.path is None:
        return socket.create_connection((address.host, address.port), timeout=10)
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(str(address.path))  # waits for its turn, as it would not with a time limit
    caller.settimeout(10)
    return caller


def test_who_says_nothing_keeps_nobody_else_waiting(process: Process):
    with connect(process.address), connect(process.address) as garbled:
        garbled.sendall(b"\x00\xff" * 100 + b"\r\n\r\n")
        assert is_ok(process.address, "/healthz")


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: "], ids=["silent", "half-sent"])
def test_many_who_do_not_finish_give_way_to_those_who_probe(process: Process, sent: bytes):
    with ExitStack() as opened:
        held = [opened.enter_context(connect(process.address)) for _ in range(40)]
        for caller in held:
            caller.sendall(sent)
        assert is_ok(process.address, "/healthz")
        assert held[0].recv(1) == b""


@pytest.mark.slow
def test_a_request_in_pieces_has_no_more_time_than_one_at_once(process: Process):
    with connect(process.address) as caller:
        caller.settimeout(0.5)
        said = None
        for _ in range(100):
            try:
                caller.sendall(b"x")
                said = caller.recv(1)
            except TimeoutError:
                continue
            except OSError:
                said = b""
            break
        assert said == b""


def test_what_changes_something_is_refused(process: Process):
    with connect(process.address) as caller:
        caller.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert b" 501 " in caller.recv(4096)


def test_a_socket_is_its_users_alone_and_taken_over_from_a_killed_process(tmp_path: Path):
    path = tmp_path / "o.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    process = Process(MetricsAddress(path=path))
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert is_ok(process.address, "/healthz")
        with pytest.raises(CannotStart, match="Another process listens"):
            Process(MetricsAddress(path=path))
    finally:
        process.server.close()
    assert not path.exists()


def test_a_port_that_is_taken_is_said(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=str(port)):
            Process(MetricsAddress(host="127.0.0.1", port=port))


def test_nobody_there_is_said(tmp_path: Path):
    with pytest.raises(NotRunning, match="No response from"):
        probe(MetricsAddress(path=tmp_path / "none.sock"), "/healthz")
