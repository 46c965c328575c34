"""GIVEN machines without a certificate that hold connections WHEN a collector calls THEN it is answered."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from fleetpb import gateway_pb2
from gateway.serving.unverified_clients import IN_ALL, PER_ADDRESS
from tests.connection_flood import flooding
from tests.gateway_daemon import DEADLINE_S, Daemon, ask, plan, require_perf_events, running, wait_until
from tests.handshakes import PREFACE, client_hello
from tests.integration.gateway.test_authorisation import issue, printable_path, secured

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180), pytest.mark.slow]

HELLO = client_hello()
SILENT, GARBAGE, HALF, WHOLE = b"", b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", HELLO[: len(HELLO) // 2], HELLO
STRANGER = "127.0.0.2"
SPARE = 8
"""Connections of collectors that are closing."""


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_perf_events()
    return issue(tmp_path_factory.mktemp("certs") / "fleet")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, certs: Path) -> Iterator[Daemon]:
    with secured(tmp_path_factory.mktemp("gateway"), certs) as started:
        yield started


def port_of(daemon: Daemon) -> int:
    return int(daemon.target.rpartition(":")[2])


def descriptors(daemon: Daemon) -> int:
    """Of the process that waits: one or two for each connection."""
    return len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))


def visit(daemon: Daemon, credentials: grpc.ChannelCredentials) -> None:
    """What a collector does, by a connection of its own."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with daemon.stub(credentials, options) as stub:
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1
    with daemon.stub(credentials, options) as stub:
        assert ask(stub, plan(seconds=0.2)).end


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (200, [SILENT]),
        (200, [HALF]),
        (200, [WHOLE]),
        (1000, [SILENT, GARBAGE, HALF, WHOLE]),
    ],
    ids=["silent", "half-a-hello", "silent-after-its-hello", "a-thousand-of-all-kinds"],
)
def test_one_address_cannot_keep_a_collector_waiting(
    daemon: Daemon, certs: Path, size: int, says: list[bytes]
):
    collector = printable_path(certs, "collector", "main")
    began = time.monotonic()
    visit(daemon, collector)
    undisturbed = time.monotonic() - began
    before = descriptors(daemon)
    with flooding(port_of(daemon), source=STRANGER, size=size, says=says) as crowd:
        began = time.monotonic()
        for _ in range(3):
            visit(daemon, collector)
        # Who waits for gRPC to cut a silent connection waits for ten seconds, at each of six connections.
        assert time.monotonic() - began < 10 * undisturbed + 20
        wait_until("strangers are cut", lambda: crowd.cut > 0)
        assert descriptors(daemon) <= before + 2 * PER_ADDRESS + SPARE


def test_many_addresses_cannot_either(daemon: Daemon, certs: Path):
    """More than there are places for strangers in all: who has the most gives way."""
    collector = printable_path(certs, "collector", "main")
    before = descriptors(daemon)
    sources = [f"127.0.0.{number}" for number in range(2, 2 + 2 * IN_ALL // PER_ADDRESS)]
    with ExitStack() as ending:
        for source in sources:
            crowd = flooding(port_of(daemon), source=source, size=PER_ADDRESS, says=[SILENT, WHOLE])
            ending.enter_context(crowd)
        visit(daemon, collector)
        assert descriptors(daemon) <= before + 2 * IN_ALL + SPARE


def test_a_caller_that_was_permitted_keeps_its_connection_whoever_comes_from_its_address(
    daemon: Daemon, certs: Path
):
    with ExitStack() as ending, daemon.stub(printable_path(certs, "collector", "main")) as stub:
        crowd = flooding(port_of(daemon), source="127.0.0.1", size=200, says=[WHOLE])
        answer = ask(stub, plan(seconds=1.5), on_begin=lambda: ending.enter_context(crowd))
        assert answer.capture


@pytest.mark.parametrize("said", [SILENT, GARBAGE, HALF], ids=["silent", "garbage", "half-a-hello"])
def test_what_is_no_greeting_is_cut_and_starts_nothing(tmp_path: Path, certs: Path, said: bytes):
    with secured(tmp_path, certs, "--idle-seconds", "0.2") as daemon:
        wait_until("the server has ended", lambda: daemon.server is None)
        with socket.create_connection(("127.0.0.1", port_of(daemon)), DEADLINE_S) as stranger:
            stranger.sendall(said)
            assert hangs_up(stranger)
        assert daemon.server is None
        with daemon.stub(printable_path(certs, "viewer", "grafana")) as stub:
            assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1
        assert 'connection rejected why="no handshake"' in daemon.log.read_text()


@pytest.mark.parametrize("said", [SILENT, HELLO, PREFACE[:9]], ids=["silent", "tls", "half-a-preface"])
def test_a_socket_wants_the_greeting_of_http_2(tmp_path: Path, said: bytes):
    require_perf_events()
    with running(tmp_path, "--idle-seconds", "0.2") as daemon:
        wait_until("the server has ended", lambda: daemon.server is None)
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(DEADLINE_S)
            caller.connect(daemon.target.removeprefix("unix:"))
            caller.sendall(said)
            assert hangs_up(caller)
        assert daemon.server is None


def hangs_up(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True  # with something unread
