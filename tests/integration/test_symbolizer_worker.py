"""The worker's process: a message on the queue becomes rows, whatever is killed in between."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import zstandard
from sqlalchemy import Engine, func, select, update

from fleetpb import capture_pb2
from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.schema import binary, capture, function, profile
from storage.visits import DrawnVisit
from symbolizer.broker import make_broker, make_sender
from symbolizer.elf import ElfFile
from symbolizer.landing import DEFAULT_TERMS, Lander, LeaseTerms
from symbolizer.locate import LocalFiles
from symbolizer.resolve import Resolver

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DEADLINE_S = 60.0
WORKER = """
import sys
from pathlib import Path
from symbolizer.landing import LeaseTerms
from symbolizer.tasks import make_app, worker_main
broker, database, archive, cache, pool, lease_s = sys.argv[1:]
app = make_app(broker, database_url=database, archive_url=archive, cache_dir=Path(cache), terms=LeaseTerms(float(lease_s)))
worker_main(app, processes=1, pool=pool)
"""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.05)


def a_capture(visit_id: UUID) -> capture_pb2.Capture:
    """One process that spends its time in one function of this interpreter's file."""
    path = os.path.realpath(sys.executable)
    elf = ElfFile(Path(path).read_bytes())
    code = next(s for s in elf.segment_map.segments if s.executable)
    message = capture_pb2.Capture(format=1, visit_id=visit_id.bytes)
    message.strings.extend(["", path, "python3", "cpu", "nanoseconds"])
    message.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=elf.build_id or b"none")
    message.frames.mapping.append(0)
    message.frames.offset.append(code.offset + code.filesz // 2)
    message.frames.into_function.append(1)
    message.frames.flags.append(1)
    message.stacks.frames.append(0)
    message.stacks.length.append(1)
    message.stacks.end.append(capture_pb2.STACK_END_COMPLETE)
    message.groups.add(comm=2, exe=1, main_mapping=1, processes=1)
    segment = message.segments.add(
        event=3, source=3, unit=4, support=capture_pb2.SUPPORT_OK, period=10_101_010, requested_period=10_101_010,
        stacks=True, duration_ns=5_000_000_000, samples=7, cpus=[0],
    )  # fmt: skip
    segment.profiles.add(group=0, stack_delta=[0], count=[7])
    return message


class Fleet:
    """One machine whose captures wait in an archive."""

    def __init__(self, engine: Engine, archive: Archive) -> None:
        self._engine = engine
        self._archive = archive
        with engine.begin() as connection:
            partitions.ensure(connection, [NOON.date()])

    def archive(self, raw: bytes | None = None) -> UUID:
        visit_id = uuid4()
        blob = zstandard.compress(a_capture(visit_id).SerializeToString() if raw is None else raw)
        key = capture_key(NOON.date(), visit_id)
        with self._engine.begin() as connection:
            definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
            campaign_id = campaigns.create_or_update(connection, definition).campaign_id
            machine_id = inventory.add(connection, NewMachine("m", "h:1"), replace=True)
            stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
            drawn = DrawnVisit(visit_id, campaign_id, 0, machine_id, stratum_id, 1, 1, 1.0, NOON)
            visits.record_draw(connection, [drawn])
            self._archive.put(key, blob)
            sha256 = hashlib.sha256(blob).digest()
            captures.record(connection, NewCapture(visit_id, NOON.date(), key, len(blob), 100, sha256, 7))
        return visit_id

    def landed(self, visit_id: UUID) -> bool:
        with self._engine.connect() as connection:
            row = connection.execute(select(capture).where(capture.c.visit_id == visit_id)).one()
        return bool(row.landed == row.wanted)

    def row(self, visit_id: UUID) -> object:
        with self._engine.connect() as connection:
            return connection.execute(select(capture).where(capture.c.visit_id == visit_id)).one()

    def due(self) -> list[UUID]:
        with self._engine.connect() as connection:
            return [visit_id for visit_id, _ in captures.due(connection, limit=100)]


@pytest.fixture
def fleet(engine: Engine, tmp_path: Path) -> Fleet:
    return Fleet(engine, Archive(str(tmp_path / "archive")))


@contextmanager
def worker(
    valkey_url: str, database_url: str, tmp_path: Path, *, pool: str = "prefork", lease_s: float = 60
) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [
        valkey_url,
        database_url,
        str(tmp_path / "archive"),
        str(tmp_path / "cache"),
        pool,
        str(lease_s),
    ]
    log = tmp_path / "worker.log"
    control = make_broker(valkey_url).control
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=output, stderr=output)
    try:
        wait_until(
            lambda: process.poll() is not None or bool(control.ping(timeout=0.2)), "a worker that answers"
        )
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_message_becomes_rows(  # noqa: PLR0917 - fixtures
    fleet: Fleet, engine: Engine, valkey_url: str, database_url: str, tmp_path: Path, pool: str
) -> None:
    ids = [fleet.archive() for _ in range(3)]
    send = make_sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path, pool=pool):
        for visit_id in ids:
            send(visit_id)
            send(visit_id)  # a message may come twice
        wait_until(lambda: all(map(fleet.landed, ids)), "three landed captures")
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(profile)) == 3
        assert connection.scalar(select(func.sum(profile.c.samples))) == 21
        names = connection.scalars(select(function.c.name).where(function.c.kind == 0)).all()
        binaries = connection.execute(select(binary.c.status, binary.c.reason)).all()
    assert len(names) == 1
    assert [(status == "full") == (reason == "") for status, reason in binaries] == [True]
    assert binaries[0].status != "unknown"


def test_what_is_no_capture_is_set_aside_at_once(
    fleet: Fleet, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    bad, good = fleet.archive(b"\xff\xff\xff garbage"), fleet.archive()
    send = make_sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path):
        send(bad)
        send(good)
        wait_until(lambda: fleet.landed(good), "the good one landed")
        wait_until(lambda: fleet.row(bad).set_aside is not None, "the bad one set aside")
    assert fleet.row(bad).attempts == 1
    assert not fleet.due()


def test_a_failure_leaves_its_reason_and_rests(
    fleet: Fleet, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    visit_id = fleet.archive()
    next((tmp_path / "archive").rglob("*.cap.zst")).unlink()
    send = make_sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path):
        send(visit_id)
        wait_until(lambda: fleet.row(visit_id).failure != "", "a reason")
    row = fleet.row(visit_id)
    assert row.set_aside is None
    assert row.landed == 0
    assert visit_id.hex[:8] in row.failure


def test_an_archive_that_is_away_sets_nothing_aside(fleet: Fleet, engine: Engine, tmp_path: Path) -> None:
    visit_id = fleet.archive()
    (tmp_path / "archive").rename(tmp_path / "away")
    (tmp_path / "archive").write_text("a mount that went wrong")
    lander = Lander(engine, Archive(str(tmp_path / "archive")), Resolver(LocalFiles(), tmp_path / "cache"))
    for _ in range(DEFAULT_TERMS.attempts_limit + 2):
        with engine.begin() as connection:
            connection.execute(update(capture).values(leased_until=None))
        assert lander.land(visit_id) is None
    assert "cannot be read" in fleet.row(visit_id).failure
    (tmp_path / "archive").unlink()
    (tmp_path / "away").rename(tmp_path / "archive")
    with engine.begin() as connection:
        connection.execute(update(capture).values(leased_until=None))
    assert lander.land(visit_id) is not None
    assert fleet.landed(visit_id)


def test_a_landing_that_takes_longer_than_a_lease_stays_its_workers(
    fleet: Fleet, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit_id = fleet.archive()
    resolver = Resolver(LocalFiles(), tmp_path / "cache")
    resolve, seen = resolver.resolve, []

    def slowly(message: capture_pb2.Capture) -> object:
        first = fleet.row(visit_id).leased_until
        wait_until(lambda: fleet.row(visit_id).leased_until > first + timedelta(seconds=1.5), "renewed")
        seen.append(fleet.due())
        return resolve(message)

    monkeypatch.setattr(resolver, "resolve", slowly)
    lander = Lander(engine, Archive(str(tmp_path / "archive")), resolver, terms=LeaseTerms(seconds=6))
    assert lander.land(visit_id) is not None
    assert seen == [[]]
    assert fleet.landed(visit_id)
    assert "lease" not in {thread.name for thread in threading.enumerate()}


def test_a_killed_pool_process_loses_nothing(
    fleet: Fleet, engine: Engine, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    """The lease of the dead runs out, the sweep's part is played by the test, and each lands once."""
    ids = [fleet.archive() for _ in range(20)]
    send = make_sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path, lease_s=1) as process:
        for visit_id in ids:
            send(visit_id)
        wait_until(lambda: any(map(fleet.landed, ids)), "a first landed capture")
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)

        def sweep() -> bool:
            for visit_id in fleet.due():
                send(visit_id)
            return all(map(fleet.landed, ids))

        wait_until(sweep, "all landed")
    with engine.connect() as connection:
        assert connection.scalar(select(func.sum(profile.c.samples))) == 7 * len(ids)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
