"""GIVEN sockets that a service manager holds WHEN somebody calls THEN the gateway is there, and only then.

The test is the service manager: it hands a socket over as sd_listen_fds(3) says.
"""

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from fleetpb import gateway_pb2, gateway_pb2_grpc
from tests.gateway_daemon import DEADLINE_S, ROOT, ask, plan, require_perf_events, wait_until

pytestmark = pytest.mark.integration
# An environment cannot name a process before there is one: this one sets it and becomes the gateway.
_ACTIVATE = """
import os, sys
held, *command = sys.argv[1:]
os.dup2(int(held), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "gateway"}
os.execv(command[0], command)
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket as fleetprof-gateway.socket would hold it."""
    with socket.socket(socket.AF_UNIX) as held:
        before = os.umask(0o177)
        held.bind(str(tmp_path / "gateway.sock"))
        os.umask(before)
        held.listen(8)
        yield held


@contextmanager
def activated(held: socket.socket, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _ACTIVATE, str(held.fileno()), sys.executable, "-m", "gateway"]
    with subprocess.Popen(
        [*command, "--listen", "systemd", *options],
        cwd=ROOT,
        pass_fds=[held.fileno()],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(DEADLINE_S)


@contextmanager
def calling(held: socket.socket) -> Iterator[gateway_pb2_grpc.GatewayStub]:
    """A caller who connects before anybody answers: the call waits in the backlog."""
    with grpc.insecure_channel(f"unix:{held.getsockname()}") as channel:
        yield gateway_pb2_grpc.GatewayStub(channel)


@pytest.mark.slow
def test_it_comes_when_called_goes_when_idle_and_remembers(held: socket.socket, tmp_path: Path):
    require_perf_events()
    options = ("--exit-when-idle", "--idle-seconds", "0.5", "--state-dir", str(tmp_path))
    visit = plan(seconds=0.2)
    with calling(held) as stub:
        waiting = stub.Health.future(gateway_pb2.HealthRequest(), wait_for_ready=True, timeout=DEADLINE_S)
        assert select.select([held], [], [], DEADLINE_S)[0], "what systemd waits for"
        with activated(held, *options) as process:
            assert waiting.result().format == 1
            assert ask(stub, visit).capture.visit_id == visit.visit_id
            assert process.wait(DEADLINE_S) == 0
    assert Path(held.getsockname()).is_socket(), "the next daemon needs it"
    with activated(held, *options), calling(held) as stub:
        refusal = ask(stub, visit).refusal
        assert refusal is not None
        assert refusal.reason == gateway_pb2.Refusal.REPEATED


@pytest.mark.slow
def test_a_call_during_the_end_is_not_lost(held: socket.socket):
    with activated(held, "--exit-when-idle", "--idle-seconds", "0.1") as process:
        assert process.wait(DEADLINE_S) == 0
    with calling(held) as stub:
        waiting = stub.Health.future(gateway_pb2.HealthRequest(), wait_for_ready=True, timeout=DEADLINE_S)
        with activated(held):
            assert waiting.result().format == 1


def test_without_exit_when_idle_it_waits_on(held: socket.socket):
    with activated(held, "--idle-seconds", "0.1") as process, calling(held) as stub:
        for _ in range(2):
            assert (
                stub.Health(gateway_pb2.HealthRequest(), wait_for_ready=True, timeout=DEADLINE_S).format == 1
            )
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            wait_until("the server ends", lambda children=children: not children.read_text())
        assert process.poll() is None


def says(process: subprocess.Popen[str]) -> str:
    _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    return errors


def test_a_port_still_needs_certificates():
    with socket.create_server(("127.0.0.1", 0)) as held, activated(held) as process:
        assert "needs mutual TLS" in says(process)


@pytest.mark.parametrize("with_certificates", [True, False])
def test_a_start_that_fails_leaves_nobody_waiting(tmp_path: Path, with_certificates: bool):
    """Else systemd would start it again at once, until a limit closes the socket for good."""
    options = ["--exit-when-idle"]
    for name in ("cert", "key", "client-ca") if with_certificates else ():
        (tmp_path / name).write_text("not what it should be")
        options += [f"--tls-{name}", str(tmp_path / name)]
    with (
        socket.create_server(("127.0.0.1", 0)) as held,
        socket.create_connection(held.getsockname(), DEADLINE_S) as caller,
        activated(held, *options) as process,
    ):
        assert "connections closed without service connections=1" in says(process)
        assert caller.recv(1) == b""
        assert not select.select([held], [], [], 0)[0], "what systemd waits for"


def test_a_socket_for_everybody_is_refused(held: socket.socket):
    Path(held.getsockname()).chmod(0o666)
    with activated(held) as process:
        assert "set SocketMode=0600" in says(process)


def test_an_abstract_socket_is_refused():
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(f"\0fleetprof-{os.getpid()}")
        held.listen()
        with activated(held) as process:
            assert "abstract socket" in says(process)


def test_what_does_not_listen_is_refused():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held, activated(held) as process:
        assert "does not listen" in says(process)


def test_a_file_is_no_socket(tmp_path: Path):
    with (tmp_path / "file").open("w") as held, activated(held) as process:
        assert "is not a socket" in says(process)


@pytest.mark.parametrize("environment", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_FDS": "1"}])
def test_started_by_hand_it_says_what_to_do(environment: dict[str, str]):
    done = subprocess.run(
        [sys.executable, "-m", "gateway", "--listen", "systemd"],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 1
    assert "systemctl start fleetprof-gateway.socket" in done.stderr
