"""The embedded Valkey: reachable by its user only, adopted when it runs, durable when it is killed."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from kombu import Connection

from services.embedded.valkey import EmbeddedValkey
from services.errors import CannotStart

pytestmark = pytest.mark.integration


@pytest.fixture
def server() -> Iterator[EmbeddedValkey]:
    folder = Path(tempfile.mkdtemp(prefix="fp ", dir="/tmp"))  # with a space: paths are quoted
    made = EmbeddedValkey(folder / "valkey")
    yield made
    made.stop()
    shutil.rmtree(folder)


@contextmanager
def client(server: EmbeddedValkey) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.client_url()) as opened:
        yield opened


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with any server."""
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_starting_and_stopping_are_idempotent_and_data_stays(server):
    server.stop()
    server.start()
    pid = server.pid
    server.start()
    assert server.pid == pid
    with client(server) as connection:
        connection.rpush("queue", "task")
    server.stop()
    server.stop()
    assert server.pid is None
    server.start()
    with client(server) as connection:
        assert connection.lrange("queue", 0, -1) == [b"task"]


def test_only_its_user_can_reach_it(server):
    server.start()
    assert stat.S_IMODE(server.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.directory.stat().st_mode) == 0o700
    with client(server) as connection:
        assert connection.config_get("port") == {"port": "0"}
        assert connection.config_get("appendonly") == {"appendonly": "yes"}


def test_celerys_transport_finds_it(server):
    server.start()
    with Connection(server.url(3)) as connection:
        queue = connection.SimpleQueue("q")
        queue.put("task")
        message = queue.get(timeout=10)
        assert message.payload == "task"
        message.ack()
        queue.close()
    with redis.Redis.from_url(server.client_url(3)) as third:
        assert third.keys("_kombu*") != []


def test_survives_being_killed(server):
    server.start()
    with client(server) as connection:
        connection.rpush("queue", "task")
        # appendfsync is everysec, but what was written reached the kernel before the answer
    first = server.pid
    os.kill(first, signal.SIGKILL)
    server.start()
    assert server.pid not in {first, None}
    with client(server) as connection:
        assert connection.lrange("queue", 0, -1) == [b"task"]


def test_a_pid_file_of_another_process_is_not_believed(server):
    server.start()
    server.stop()
    with bystander() as process:
        (server.directory / "valkey.pid").write_text(f"{process.pid}\n")
        assert server.pid is None
        server.stop()
        server.start()
        assert process.poll() is None


def test_those_who_start_it_together_get_one_server(server):
    others = [EmbeddedValkey(server.directory) for _ in range(4)]
    threads = [threading.Thread(target=other.start) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({other.pid for other in others} - {None}) == 1


def test_a_socket_path_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(CannotStart, match="FLEETPROF_STATE_DIR"):
        EmbeddedValkey(tmp_path / ("x" * 100)).start()


def test_one_start_makes_one_server(tmp_path_factory):
    """Seen: a second server was launched before the first had written its pid file, and outlived the stop."""
    directory = tmp_path_factory.mktemp("v")
    server = EmbeddedValkey(directory)
    for _ in range(5):
        server.start()
        assert len(servers_of(directory)) == 1
        server.stop()
        assert servers_of(directory) == []


def servers_of(directory):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(directory) in (folder / "cmdline").read_bytes().decode(errors="replace"):
                found.append(folder.name)
        except OSError:
            continue
    return found
