"""The daemon's processes, its socket and its certificates."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from fleetpb import gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    ROOT,
    Daemon,
    ask,
    command,
    plan,
    running,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

Refusal = gateway_pb2.Refusal


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_capture_with_a_refusal_and_the_daemon_with_0(tmp_path: Path, number: signal.Signals):
    with running(tmp_path) as stopped, stopped.stub() as stub:
        stream = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        next(stream)
        wait_until("perf events are open", lambda: stopped.is_measuring)
        stopped.process.send_signal(number)
        last = list(stream)[-1]
        assert last.refusal.reason == Refusal.FAILED
        assert "stopped" in last.refusal.message
        assert stopped.process.wait(DEADLINE_S) == 0
    assert not (tmp_path / "gateway.sock").exists()


@pytest.mark.slow
def test_a_killed_daemon_takes_its_server_along(tmp_path: Path):
    with running(tmp_path) as killed:
        server = killed.server
        assert server is not None
        killed.process.kill()
        killed.process.wait(DEADLINE_S)
        wait_until("the server has ended", lambda: not Path(f"/proc/{server}").exists())


def test_a_killed_server_is_replaced(tmp_path: Path):
    with running(tmp_path) as daemon:
        first = daemon.server
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_until("it is gone", lambda: daemon.server != first)
        with daemon.stub() as stub:
            assert ask(stub, plan(seconds=0.1)).end
        assert "server died" in daemon.log.read_text()


def test_the_socket_is_the_owners_alone(daemon: Daemon):
    assert stat.S_IMODE(Path(daemon.target.removeprefix("unix:")).stat().st_mode) == 0o600


def refused(*options: str) -> str:
    """What the daemon says when it does not start."""
    ended = subprocess.run(
        command(*options), cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert ended.returncode == 1, ended
    assert "Traceback" not in ended.stderr
    (line,) = ended.stderr.strip().splitlines()
    return line


def test_a_second_daemon_on_the_same_socket_refuses(daemon: Daemon):
    assert "another process listens" in refused("--listen", daemon.target)
    with daemon.stub() as stub:
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1


def test_the_socket_of_a_killed_daemon_is_replaced(tmp_path: Path):
    with running(tmp_path) as killed:
        killed.process.kill()
        killed.process.wait(DEADLINE_S)
    assert (tmp_path / "gateway.sock").exists()
    with running(tmp_path) as next_one, next_one.stub() as stub:
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("data")
    assert "not a socket" in refused("--listen", f"unix:{precious}")
    assert precious.read_text() == "data"


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path):
    tmp_path.chmod(0o777)
    assert "chmod go-w" in refused("--listen", f"unix:{tmp_path}/gateway.sock")


def test_an_address_of_the_network_needs_tls():
    message = refused("--listen", "0.0.0.0:0")
    assert "mutual TLS" in message
    assert "--tls-cert" in message


def test_certificates_that_make_no_sense_keep_it_from_starting(tmp_path: Path):
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    ended = subprocess.run(
        command(
            *("--listen", "127.0.0.1:0", "--tls-cert", str(nonsense)),
            *("--tls-key", str(nonsense), "--tls-client-ca", str(nonsense)),
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert ended.returncode == 1
    assert "nonsense.pem" in ended.stderr
    assert "Traceback" not in ended.stderr
