"""GIVEN a process that has imported what parts share WHEN it forks one THEN that is our child, as if it had been executed."""

import os
import signal
import sys
from pathlib import Path

import pytest

from services.deployment.fork_server import ForkServer
from services.deployment.supervisor import Child, Part

URL = [sys.executable, "-P", "-m", "services", "url"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = ForkServer(lambda name: name in {"PATH", "HOME"}, lambda: None)
    started.start(tmp_path_factory.mktemp("server") / "log")
    yield started
    started.close()


@pytest.mark.slow
def test_a_fork_runs_the_command_with_the_environment_it_is_given_and_says_how_it_ended(server, tmp_path):
    log = tmp_path / "log"
    state = tmp_path / "state"
    forked = server.fork(URL, {"FLEETPROF_STATE_DIR": str(state)}, log)
    assert forked is not None
    assert forked.wait(30) == 1
    assert str(state) in log.read_text()


def test_a_fork_is_our_child_and_shows_its_command(server, tmp_path):
    up = [sys.executable, "-P", "-m", "services", "api"]
    environment = {
        "FLEETPROF_DATABASE_URL": f"postgresql://x@/x?host={tmp_path}",
        "FLEETPROF_STATE_DIR": str(tmp_path),
        "FLEETPROF_API_HOST": f"unix:{tmp_path}/api.sock",
    }
    forked = server.fork(up, environment, tmp_path / "log")
    assert forked is not None
    try:
        status = Path(f"/proc/{forked.pid}/stat").read_text().rpartition(")")[2].split()
        assert int(status[1]) == os.getpid()
        assert int(status[3]) == forked.pid  # leads a session of its own
        assert b"FLEETPROF_" not in Path(f"/proc/{forked.pid}/environ").read_bytes()
        while b"services\0api\0" not in Path(f"/proc/{forked.pid}/cmdline").read_bytes():
            assert forked.poll() is None, (tmp_path / "log").read_text()
    finally:
        os.kill(forked.pid, signal.SIGKILL)
    assert forked.wait(30) == -signal.SIGKILL


def test_without_a_server_a_part_is_executed(tmp_path):
    ended = ForkServer(lambda _: True, lambda: None)
    part = Part(
        "part",
        [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"],
        tmp_path / "log",
        lambda: "up" in (tmp_path / "log").read_text(),
        forked_by=ended,
    )
    child = Child(part)
    child.start()
    child.wait_until_ready()
    child.stop()
    assert child.pid is None
