"""GIVEN a process that answers probes WHEN it is asked, well or badly THEN it answers what is so, and goes on."""

import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.errors import CannotStart, NotRunning
from services.observing.address import ObserveAddress
from services.observing.asking import ask, is_ok
from services.observing.readiness import Readiness
from services.observing.server import ObservingServer, is_near


class Process:
    def __init__(self, address: ObserveAddress) -> None:
        self.now = 0.0
        self.wrong: str | None = None
        self.asked = 0
        readiness = Readiness({"database": self.check, "pool": lambda: None}, clock=lambda: self.now)
        self.server = ObservingServer(address, readiness, lambda: b"up 1\n")
        self.address = self.server.address
        self.server.start()

    def check(self) -> str | None:
        self.asked += 1
        return self.wrong


@pytest.fixture(params=["tcp", "unix"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Process]:
    address = (
        ObserveAddress(host="127.0.0.1")
        if request.param == "tcp"
        else ObserveAddress(path=tmp_path / "o.sock")
    )
    made = Process(address)
    yield made
    made.server.close()


def test_alive_is_not_ready(process: Process):
    assert ask(process.address, "/readyz") == (200, '{"status": "ready", "failing": {}}\n')
    process.wrong = "It is away."
    process.now = 10.0
    status, text = ask(process.address, "/readyz")
    assert status == 503
    assert "It is away." in text
    assert is_ok(process.address, "/healthz")
    assert not is_ok(process.address, "/readyz")


def test_what_is_wrong_is_said_to_this_machine_and_the_log(
    process: Process, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    process.wrong = "No password for app@db.example."
    monkeypatch.setattr("services.observing.server.is_near", lambda _caller: False)
    status, text = ask(process.address, "/readyz")
    assert (status, json.loads(text)["failing"].keys()) == (503, {"database"})
    assert "example" not in text
    process.now = 10.0
    ask(process.address, "/readyz")
    process.wrong, process.now = None, 20.0
    ask(process.address, "/readyz")
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["not ready: database: No password for app@db.example."], "once, not at every probe"


@pytest.mark.parametrize(
    ("caller", "near"),
    [
        (("127.0.0.1", 4000), True),
        (("::1", 4000, 0, 0), True),
        (("::ffff:127.0.0.1", 4000, 0, 0), True),
        ("", True),
        (b"", True),
        (("10.0.0.7", 4000), False),
        (("::ffff:10.0.0.7", 4000, 0, 0), False),
        (("fe80::1%eth0", 4000, 0, 2), False),
    ],
)
def test_who_is_near(caller: object, near: bool):
    assert is_near(caller) is near


def test_who_asks_all_the_time_causes_no_more_work(process: Process):
    for _ in range(5):
        ask(process.address, "/readyz")
    assert process.asked == 1
    process.now = 1.5
    ask(process.address, "/readyz")
    assert process.asked == 2


def test_metrics_and_what_is_not_there(process: Process):
    assert ask(process.address, "/metrics") == (200, "up 1\n")
    assert ask(process.address, "/metrics?name=x")[0] == 200
    assert ask(process.address, "/api/v1/table")[0] == 404


def connect(address: ObserveAddress) -> socket.socket:
    if address.path is None:
        return socket.create_connection((address.host, address.port), timeout=10)
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(10)
    caller.connect(str(address.path))
    return caller


def test_who_says_nothing_keeps_nobody_else_waiting(process: Process):
    with connect(process.address), connect(process.address) as garbled:
        garbled.sendall(b"\x00\xff" * 100 + b"\r\n\r\n")
        assert is_ok(process.address, "/healthz")


def test_what_changes_something_is_refused(process: Process):
    with connect(process.address) as caller:
        caller.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        assert b" 501 " in caller.recv(4096)


def test_a_socket_is_its_users_alone_and_taken_over_from_a_killed_process(tmp_path: Path):
    path = tmp_path / "o.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    process = Process(ObserveAddress(path=path))
    try:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert is_ok(process.address, "/healthz")
        with pytest.raises(CannotStart, match="already"):
            Process(ObserveAddress(path=path))
    finally:
        process.server.close()
    assert not path.exists()


def test_a_port_that_is_taken_is_said(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotStart, match=str(port)):
            Process(ObserveAddress(host="127.0.0.1", port=port))


def test_nobody_there_is_said(tmp_path: Path):
    with pytest.raises(NotRunning, match="Nobody answers"):
        ask(ObserveAddress(path=tmp_path / "none.sock"), "/healthz")
