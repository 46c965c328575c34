"""An API process with a few ingested visits, reached by HTTP and gRPC."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from uuid import UUID, uuid4

import pytest
import zstandard
from sqlalchemy import Engine, update

from storage.archive import Archive, capture_key
from storage.database import open_engine
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.schema import Outcome, capture
from storage.visits import finish
from tests.conftest import administer, sibling
from tests.ingested import archived
from tests.polling import until
from tests.synthetic_captures import random_capture

VIEWER, OPERATOR = "v" * 24, "o" * 24
OTHERS = tuple(letter * 24 for letter in "abcd")
"""Tokens of other viewers."""
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = {"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T13:00:00Z"}

_PROGRAM = """
from services.cli import main
from storage.data import snapshots

snapshots.STATEMENT_S = 3600  # so that nothing but a cancellation ends a statement in tests
main()
"""


@dataclass(frozen=True)
class Served:
    """Where the API is."""

    http: str
    grpc: str
    ports: tuple[int, int]
    process: subprocess.Popen[bytes]


def bring(engine: Engine, archive: Archive, minutes: list[int], *, ingested: bool = True) -> list[UUID]:
    """Visits with raw captures in the archive that are ingested, too."""
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
        if ingested:
            ingest(engine, interner, visit_id, 1, message, resolved)
        found.append(visit_id)
    return found


@dataclass(frozen=True)
class Store:
    """A database and an archive with five visits, that nobody changes."""

    url: str
    engine: Engine
    archive: Archive
    visit_ids: list[UUID]


@pytest.fixture(scope="session")
def store(postgres_url: str, database_template: str, tmp_path_factory) -> Iterator[Store]:
    name = f"data_{uuid4().hex[:12]}"
    administer(postgres_url, f"CREATE DATABASE {name} TEMPLATE {database_template}")
    url = sibling(postgres_url, name)
    engine = open_engine(url, application="test")
    archive = Archive(str(tmp_path_factory.mktemp("archive")))
    yield Store(url, engine, archive, bring(engine, archive, [1, 2, 3, 5, 8]))
    engine.dispose()
    administer(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def visit_ids(store: Store) -> list[UUID]:
    return store.visit_ids


@pytest.fixture(scope="session")
def served(store: Store, tmp_path_factory) -> Iterator[Served]:
    """`fleetprof api` over the store, for all tests."""
    with serving(store, tmp_path_factory.mktemp("state")) as found:
        yield found


@pytest.fixture
def own_served(store: Store, tmp_path: Path) -> Iterator[Served]:
    """`fleetprof api` of the test's own."""
    with serving(store, tmp_path) as found:
        yield found


@contextmanager
def serving(
    store: Store,
    state: Path,
    *,
    ports: tuple[int, int] | None = None,
    kill: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Served]:
    """`ports` of HTTP and gRPC, None: free ones; `kill`: the test itself ends it; `settings` by their names."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        ports = ports or (first.getsockname()[1], second.getsockname()[1])
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRPC_")},
        "FLEETPROF_STATE_DIR": str(state),
        "FLEETPROF_DATABASE_URL": store.url,
        "FLEETPROF_ARCHIVE_URL": store.archive.url,
        "FLEETPROF_API_TOKENS": ",".join(
            [f"operator:{OPERATOR}", *(f"viewer:{token}" for token in (VIEWER, *OTHERS))]
        ),
        **settings,
    }
    command = [sys.executable, "-c", _PROGRAM, "api", "--port", str(ports[0])]
    log = state / "api.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--grpc-listen", f"127.0.0.1:{ports[1]}"],
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: process.poll() is not None or all(map(_listens, ports)))
        assert process.poll() is None, log.read_text()
        yield Served(f"http://127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", ports, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert process.returncode == (-signal.SIGKILL if kill else 0), log.read_text()
    assert "Traceback" not in log.read_text(), log.read_text()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
