"""The worker's process: a message on the queue becomes rows, whatever is killed in between."""

import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select, update

from fleetpb import capture_pb2
from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from storage.archive import Archive
from storage.captures import Due
from storage.schema import binary, capture, function, profile
from symbolizer.elf.file import MAX_STRING_BYTES
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.broker import make_sender
from symbolizer.worker.ingestion import DEFAULT_TERMS, Ingester, LeaseTerms
from tests.hostile_elf import hostile_elf
from tests.pending_captures import PendingCaptures, a_capture
from tests.polling import until
from tests.worker_process import worker

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def fleet(engine: Engine, tmp_path: Path) -> PendingCaptures:
    return PendingCaptures(engine, Archive(str(tmp_path / "archive")))


def sender(valkey_url: str) -> Callable[[UUID], None]:
    """Sends as the collector does."""
    send = make_sender(valkey_url)
    return lambda visit_id: send(Due(visit_id, 1, partition=visit_id.int, again=False))


@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_message_becomes_rows(  # noqa: PLR0917 - fixtures
    fleet: PendingCaptures, engine: Engine, valkey_url: str, database_url: str, tmp_path: Path, pool: str
) -> None:
    ids = [fleet.archive() for _ in range(3)]
    send = sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path, pool=pool):
        for visit_id in ids:
            send(visit_id)
            send(visit_id)  # a message may come twice
        until(lambda: all(map(fleet.ingested, ids)), "three ingested captures")
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(profile)) == 3
        assert connection.scalar(select(func.sum(profile.c.samples))) == 21
        names = connection.scalars(select(function.c.name).where(function.c.kind == 0)).all()
        binaries = connection.execute(select(binary.c.status, binary.c.reason)).all()
    assert len(names) == 1
    assert [(status == "full") == (reason == "") for status, reason in binaries] == [True]
    assert binaries[0].status != "unknown"


def test_what_is_no_capture_is_quarantined_at_once(
    fleet: PendingCaptures, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    bad, good, bomb = fleet.archive(b"\xff\xff\xff garbage"), fleet.archive(), uuid4()
    # 2 kB that would take 200 MB to parse; ten times as many would take the machine.
    fleet.archive(a_capture(bomb).SerializeToString() + b"\x3a\x00" * 2_200_000, visit_id=bomb)
    send = sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path):
        for each in (bad, bomb, good):
            send(each)
        until(lambda: fleet.ingested(good), "the good one ingested")
        until(lambda: fleet.row(bad).quarantined is not None, "the bad one quarantined")
        until(lambda: fleet.row(bomb).quarantined is not None, "the bomb quarantined")
    assert fleet.row(bad).attempts == fleet.row(bomb).attempts == 1
    assert "parts" in fleet.row(bomb).quarantined
    assert not fleet.due()


def test_a_capture_with_hostile_binaries_ingests_without_their_names_alone(
    fleet: PendingCaptures, engine: Engine, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    """A string table that is a hole of 600 MiB, files of a million symbols, and a name that stands for gigabytes.

    Within what infra/kubernetes gives a process of a worker.
    """
    bomb = "_Z1f1PIiiE" + "".join(f"S_IS{n}_S{n}_E" for n in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    (tmp_path / "bomb").write_bytes(elf_file(b"\x06" * 20, [Symbol(bomb, TEXT_OFFSET, 16)]))
    hostile_elf(tmp_path / "hole", build_id=b"\x05" * 20, string_bytes=600 << 20)
    hostile = [("bomb", b"\x06" * 20), ("hole", b"\x05" * 20)]
    for number in range(3):
        hostile.append((f"full{number}", bytes([number + 1]) * 20))
        hostile_elf(
            tmp_path / hostile[-1][0],
            build_id=hostile[-1][1],
            symbols=1 << 20,
            string_bytes=MAX_STRING_BYTES,
        )
    visit_id = uuid4()
    message = a_capture(visit_id)
    for name, build_id in hostile:
        message.strings.append(str(tmp_path / name))
        message.mappings.add(kind=capture_pb2.Mapping.FILE, path=len(message.strings) - 1, build_id=build_id)
        message.stacks.frames.append(len(message.frames.mapping))
        message.frames.mapping.append(len(message.mappings) - 1)
        message.frames.offset.append(TEXT_OFFSET)
        message.frames.into_function.append(1)
        message.frames.flags.append(1)
    message.stacks.length[0] = len(message.stacks.frames)
    fleet.archive(message.SerializeToString(), visit_id=visit_id)
    send = sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path, memory_bytes=1536 << 20):
        send(visit_id)
        until(lambda: fleet.ingested(visit_id) or fleet.row(visit_id).failure != "", "ingested, or failed")
    assert fleet.ingested(visit_id), fleet.row(visit_id).failure
    with engine.connect() as connection:
        reasons = dict(map(tuple, connection.execute(select(binary.c.name, binary.c.reason))))
        names = set(connection.scalars(select(function.c.name).where(function.c.kind == 0)))
    assert "The names of its symbols have 629145600 bytes; the limit is 268435456." in reasons["hole"]
    assert f"hole+{TEXT_OFFSET:#x}" in names
    assert bomb in names, "as it is"
    own = [name for name in names if not name.startswith(("hole+", "_Z1f1P"))]
    assert any(name.strip() for name in own), "the interpreter's function has a name"


def test_a_failure_leaves_its_reason_and_rests(
    fleet: PendingCaptures, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    visit_id = fleet.archive()
    next((tmp_path / "archive").rglob("*.cap.zst")).unlink()
    send = sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path):
        send(visit_id)
        until(lambda: fleet.row(visit_id).failure != "", "a reason")
    row = fleet.row(visit_id)
    assert row.quarantined is None
    assert row.ingested == 0
    assert visit_id.hex[:8] in row.failure


def test_an_archive_that_is_away_sets_nothing_aside(
    fleet: PendingCaptures, engine: Engine, tmp_path: Path
) -> None:
    visit_id = fleet.archive()
    (tmp_path / "archive").rename(tmp_path / "away")
    (tmp_path / "archive").write_text("a mount that went wrong")
    ingester = Ingester(
        engine, Archive(str(tmp_path / "archive")), Resolver(LocalFiles(), tmp_path / "cache")
    )
    for _ in range(DEFAULT_TERMS.attempts_limit + 2):
        with engine.begin() as connection:
            connection.execute(update(capture).values(leased_until=None))
        assert ingester.ingest(visit_id) is None
    assert "Cannot read" in fleet.row(visit_id).failure
    (tmp_path / "archive").unlink()
    (tmp_path / "away").rename(tmp_path / "archive")
    with engine.begin() as connection:
        connection.execute(update(capture).values(leased_until=None))
    assert ingester.ingest(visit_id) is not None
    assert fleet.ingested(visit_id)


def test_a_ingestion_that_takes_longer_than_a_lease_stays_its_workers(
    fleet: PendingCaptures, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit_id = fleet.archive()
    resolver = Resolver(LocalFiles(), tmp_path / "cache")
    resolve, seen = resolver.resolve, []

    def slowly(message: capture_pb2.Capture) -> object:
        first = fleet.row(visit_id).leased_until
        until(lambda: fleet.row(visit_id).leased_until > first + timedelta(seconds=1.5), "renewed")
        seen.append(fleet.due())
        return resolve(message)

    monkeypatch.setattr(resolver, "resolve", slowly)
    ingester = Ingester(engine, Archive(str(tmp_path / "archive")), resolver, terms=LeaseTerms(seconds=6))
    assert ingester.ingest(visit_id) is not None
    assert seen == [[]]
    assert fleet.ingested(visit_id)
    assert "lease" not in {thread.name for thread in threading.enumerate()}


def test_a_killed_pool_process_loses_nothing(
    fleet: PendingCaptures, engine: Engine, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    """The lease of the dead runs out, the sweep's part is played by the test, and each ingests once."""
    ids = [fleet.archive() for _ in range(20)]
    send = sender(valkey_url)
    with worker(valkey_url, database_url, tmp_path, lease_s=1) as process:
        for visit_id in ids:
            send(visit_id)
        until(lambda: any(map(fleet.ingested, ids)), "a first ingested capture")
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)

        def sweep() -> bool:
            for visit_id in fleet.due():
                send(visit_id)
            return all(map(fleet.ingested, ids))

        until(sweep, "all ingested")
    with engine.connect() as connection:
        assert connection.scalar(select(func.sum(profile.c.samples))) == 7 * len(ids)


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
