"""GIVEN a daemon that waits WHEN it is probed, well or badly THEN it answers, starts nothing, and goes on waiting."""

import contextlib
import os
import selectors
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.errors import UnsafeAddress
from gateway.options import build_parser, settings_of
from gateway.serving.daemon_metrics import cpu_seconds, render_metrics, resident_bytes
from gateway.serving.metrics_server import MetricsServer
from gateway.serving.socket_activation import SocketActivator


class Daemon:
    """The selector's loop, as the doorman runs it, step by step."""

    def __init__(self, listening: socket.socket) -> None:
        self.well = True
        self.selector = selectors.DefaultSelector()
        self.listening = listening
        self.metrics_server = MetricsServer(
            listening, {"/healthz": lambda: (True, "alive\n"), "/readyz": lambda: (self.well, "so\n")}
        )
        self.metrics_server.register(self.selector)

    def turn(self) -> None:
        for key, mask in self.selector.select(0):
            key.data(mask)

    def call(self) -> socket.socket:
        caller = socket.create_connection(self.listening.getsockname(), timeout=10)
        self.turn()
        return caller

    def ask(self, request: bytes) -> bytes:
        with self.call() as caller:
            caller.sendall(request)
            self.turn()
            answer = b""
            while more := caller.recv(4096):
                answer += more
            return answer


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Daemon(listening)
        yield made
        made.metrics_server.close_in_child()
        made.selector.close()


def test_alive_is_not_ready(daemon: Daemon):
    assert daemon.ask(b"GET /readyz HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
    daemon.well = False
    assert daemon.ask(b"GET /readyz?x HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 503 ")
    assert daemon.ask(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").endswith(b"\r\n\r\nalive\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /healthz HTTP/1.1\r\n\r\n", b"405"),
        (b"\r\n\r\n", b"405"),
        (b"\xff\xfe\x00\r\n\r\n", b"405"),
        (b"GET\r\n\r\n", b"404"),
    ],
)
def test_what_is_not_asked_well_is_answered_so(daemon: Daemon, request_: bytes, status: bytes):
    assert daemon.ask(request_).split(b" ")[1] == status


def test_a_request_may_come_in_pieces_and_a_head_has_no_body(daemon: Daemon):
    with daemon.call() as caller:
        for piece in (b"HEAD /heal", b"thz HTTP/1.1\r\n", b"\r\n"):
            caller.sendall(piece)
            daemon.turn()
        assert caller.recv(4096).endswith(b"\r\n\r\n")


def test_more_than_a_request_is_hung_up_on(daemon: Daemon):
    with daemon.call() as caller:
        caller.sendall(b"x" * 10_000)
        daemon.turn()
        daemon.turn()
        with contextlib.suppress(ConnectionResetError):  # what it left unread
            assert caller.recv(1) == b""


def test_those_who_say_nothing_give_way_to_those_who_ask(daemon: Daemon):
    silent = [daemon.call() for _ in range(20)]
    assert daemon.ask(b"GET /healthz HTTP/1.1\r\n\r\n").endswith(b"alive\n")
    assert silent[0].recv(1) == b""
    for each in silent:
        each.close()
    daemon.turn()
    assert daemon.ask(b"GET /healthz HTTP/1.1\r\n\r\n").endswith(b"alive\n")


def test_one_dropped_in_the_very_turn_it_speaks_is_not_heard(daemon: Daemon):
    """A ninth caller pushes the first one out while the selector already holds what that one said."""
    callers = [daemon.call() for _ in range(8)]
    ninth = socket.create_connection(daemon.listening.getsockname(), timeout=10)
    callers[0].sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
    events = daemon.selector.select(1)
    for key, mask in sorted(events, key=lambda event: event[0].fileobj is not daemon.listening):
        key.data(mask)
    for each in (*callers, ninth):
        each.close()


def test_figures_are_what_prometheus_reads():
    text = render_metrics({"a_total": ("counter", "What.", 3), "b": ("gauge", "What else.", 0.25)})
    assert (
        text
        == "# HELP a_total What.\n# TYPE a_total counter\na_total 3\n# HELP b What else.\n# TYPE b gauge\nb 0.25\n"
    )
    assert cpu_seconds(os.getpid()) > 0
    assert resident_bytes(os.getpid()) > 1 << 20
    assert cpu_seconds(2**22 + 1) == resident_bytes(2**22 + 1) == 0


def test_a_daemon_whose_server_dies_is_alive_and_not_ready(tmp_path: Path):
    doorman = SocketActivator([], lambda _: 0, idle_s=1.0, busy=lambda: False, on_ready=lambda: None)
    assert "fleetprof_gateway_ready 0\n" in doorman._metrics()
    doorman._was_up = True
    assert "fleetprof_gateway_ready 1\n" in doorman._metrics()
    doorman._fail(1)
    assert "fleetprof_gateway_ready 0\n" in doorman._metrics()
    assert "fleetprof_gateway_server_deaths_total 1\n" in doorman._metrics()


@pytest.mark.parametrize("address", ["0.0.0.0:9464", "10.1.2.3:9464", "[::]:9464"])
def test_what_others_reach_needs_a_word(address: str):
    parser = build_parser()
    arguments = ["--listen", "unix:/run/x.sock", "--metrics-listen", address]
    with pytest.raises(UnsafeAddress, match="--metrics-allow-remote"):
        settings_of(parser.parse_args(arguments), parser)
    assert (
        settings_of(parser.parse_args([*arguments, "--metrics-allow-remote"]), parser).metrics_listen
        is not None
    )


@pytest.mark.parametrize("address", ["127.0.0.1:9464", "[::1]:9464", "unix:/run/y.sock"])
def test_what_only_this_machine_reaches_is_free(address: str):
    parser = build_parser()
    arguments = ["--listen", "unix:/run/x.sock", "--metrics-listen", address]
    assert settings_of(parser.parse_args(arguments), parser).metrics_listen is not None


@pytest.mark.parametrize(
    "more",
    [
        ["--metrics-listen", "systemd"],
        ["--metrics-listen", "x"],
        ["--metrics-listen", "127.0.0.1:1", "--exit-when-idle"],
    ],
)
def test_what_makes_no_sense_is_refused(more: list[str], capsys: pytest.CaptureFixture[str]):
    parser = build_parser()
    with pytest.raises(SystemExit):
        settings_of(parser.parse_args(["--listen", "systemd", *more]), parser)
    assert "--metrics-listen" in capsys.readouterr().err or more[1] == "x"
