"""Clients that go away while the API works for them: their statements end, and their places are free again."""

import http.client
import io
import os
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from sqlalchemy import Engine, text

from services.api.app import CONCURRENT_QUERIES

pytestmark = [pytest.mark.integration, pytest.mark.slow]
TOKEN, OPERATOR = "t" * 24, "o" * 24
_PATIENCE_S = 60.0
_WAITING = text(
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'fleetprof-api'"
)


def until(true: Callable[[], bool], why: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, why
        time.sleep(0.02)


@pytest.fixture
def port(database_url: str, tmp_path: Path) -> Iterator[int]:
    """An API process of its own; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    environment = {
        **os.environ,
        "FLEETPROF_DATABASE_URL": database_url,
        "FLEETPROF_STATE_DIR": str(tmp_path / "state"),
        "FLEETPROF_API_TOKENS": f"viewer:{TOKEN},operator:{OPERATOR}",
        "FLEETPROF_QUERY_SECONDS": "600",
    }
    log = tmp_path / "log"
    with log.open("wb") as written:
        api = subprocess.Popen(
            [sys.executable, "-m", "services", "api", "--port", str(number)],
            env=environment,
            stdout=written,
            stderr=written,
        )
    try:
        until(lambda: answers(number) or api.poll() is not None, "the API does not answer")
        assert api.poll() is None, log.read_text()
        yield number
    finally:
        api.terminate()
        api.wait()


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def ask(port: int, path: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
    return connection


def test_whoever_goes_away_is_not_worked_for(engine: Engine, port: int):
    def waiting() -> int:
        with engine.connect() as looking:
            return looking.scalar(_WAITING) or 0

    with engine.connect() as locking, locking.begin():
        locking.execute(text("LOCK TABLE sample_type IN ACCESS EXCLUSIVE MODE"))
        for turn in range(2):
            # Every place is taken, and two more wait for one.
            clients = [
                ask(port, f"/api/v1/table?from=now-{hours}h&limit={turn + 1}")
                for hours in range(1, CONCURRENT_QUERIES + 3)
            ]
            until(lambda: waiting() == CONCURRENT_QUERIES, "the questions do not come to the lock")
            for client in clients:
                client.close()
            until(lambda: waiting() == 0, "statements go on that nobody waits for")
    for hours in range(1, CONCURRENT_QUERIES + 1):
        client = ask(port, f"/api/v1/table?from=now-{hours}h")
        response = client.getresponse()
        assert response.status == 200, response.read()
        client.close()


def test_sources_of_whoever_goes_away_are_not_stored(engine: Engine, port: int, tmp_path: Path):
    def stored() -> int:
        with engine.connect() as looking:
            return looking.scalar(text("SELECT count(*) FROM source_path")) or 0

    files = 20_000
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(files):
            archive.addfile(tarfile.TarInfo(f"/build/{number}.c"))
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
    headers = {"Authorization": f"Bearer {OPERATOR}", "Content-Encoding": "zstd"}
    client.request("POST", "/api/v1/sources?key=aabb", zstandard.compress(packed.getvalue()), headers)
    until(lambda: stored() > 0, "no source is stored")
    client.close()
    until(lambda: "/api/v1/sources" in (tmp_path / "log").read_text(), "the request does not end")
    assert stored() < files
