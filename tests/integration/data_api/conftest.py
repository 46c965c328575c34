"""An API process with a few landed visits, reached by HTTP and gRPC."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import zstandard
from sqlalchemy import Engine, update

from storage.archive import Archive, capture_key
from storage.landing.interning import Interner
from storage.landing.land import land
from storage.schema import capture
from storage.visits import Outcome, finish
from tests.landed import archived
from tests.made_captures import random_capture
from tests.until import until

VIEWER, OPERATOR = "v" * 24, "o" * 24
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T13:00:00Z"}


@dataclass(frozen=True)
class Served:
    """Where the API is."""

    http: str
    grpc: str
    socket: Path


def bring(engine: Engine, archive: Archive, minutes: list[int], *, landed: bool = True) -> list[UUID]:
    """Visits with raw captures in the archive that are landed, too."""
    interner = Interner(engine)
    found = []
    for minute in minutes:
        at = NOON + timedelta(minutes=minute)
        (visit_id,) = archived(engine, drawn_at=at)
        message, resolved = random_capture(visit_id, minute)
        raw = message.SerializeToString()
        blob = zstandard.compress(raw)
        archive.put(capture_key(at.date(), visit_id), blob)
        with engine.begin() as connection:
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == visit_id)
                .values(bytes=len(blob), raw_bytes=len(raw), sha256=hashlib.sha256(blob).digest())
            )
            finish(
                connection,
                visit_id,
                outcome=Outcome.ANSWERED,
                detail="",
                ended_at=at,
                seconds=5.0,
                utilisation=0.4,
            )
        if landed:
            land(engine, interner, visit_id, 1, message, resolved)
        found.append(visit_id)
    return found


@pytest.fixture
def visit_ids(engine: Engine, archive: Archive) -> list[UUID]:
    return bring(engine, archive, [1, 2, 3, 5, 8])


@pytest.fixture
def served(database_url: str, archive: Archive, tmp_path: Path) -> Iterator[Served]:
    """`fleetprof api` of the test's own."""
    path = tmp_path / "run" / "data.sock"
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        ports = first.getsockname()[1], second.getsockname()[1]
    environment = {
        **os.environ,
        "FLEETPROF_STATE_DIR": str(tmp_path / "state"),
        "FLEETPROF_DATABASE_URL": database_url,
        "FLEETPROF_ARCHIVE_URL": archive.url,
        "FLEETPROF_API_TOKENS": f"viewer:{VIEWER},operator:{OPERATOR}",
    }
    command = [sys.executable, "-m", "services", "api", "--port", str(ports[0])]
    process = subprocess.Popen(
        [*command, "--grpc-listen", f"127.0.0.1:{ports[1]}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        until(lambda: process.poll() is not None or _listens(ports[0]))
        assert process.poll() is None, process.stdout.read()
        yield Served(f"http://127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", path)
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert "Traceback" not in said, said


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
