"""A worker that takes waiting captures along: who comes with whom, and who pays for whose failure."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, func, select, update

from fleetpb import capture_pb2
from storage import leases
from storage.archive import Archive
from storage.database import open_engine
from storage.ingest.symbolized import ResolvedFrames
from storage.leases import Lease
from storage.schema import capture, profile
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker import lease_renewal
from symbolizer.worker.ingestion import Ingester, LeaseTerms
from tests.pending_captures import SAMPLES, PendingCaptures

pytestmark = pytest.mark.integration

ATTEMPTS = 3


class HookedResolver(Resolver):
    """Resolves, after whatever a test wants to happen while a capture is a worker's."""

    def __init__(self, cache: Path, before: Callable[[UUID], None]) -> None:
        super().__init__(LocalFiles(), cache)
        self._before = before

    def resolve(self, message: capture_pb2.Capture) -> ResolvedFrames:
        self._before(UUID(bytes=message.visit_id))
        return super().resolve(message)


@pytest.fixture
def waiting(engine: Engine, archive: Archive) -> PendingCaptures:
    return PendingCaptures(engine, archive)


@pytest.fixture
def ingester(engine: Engine, archive: Archive, tmp_path: Path) -> Callable[..., Ingester]:
    def make(before: Callable[[UUID], None] = lambda _: None, **terms: float) -> Ingester:
        own = LeaseTerms(**({"attempts_limit": ATTEMPTS} | terms))
        return Ingester(engine, archive, HookedResolver(tmp_path / "cache", before), terms=own)

    return make


def samples(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.coalesce(func.sum(profile.c.samples), 0)))


def attempts(engine: Engine) -> dict[UUID, int]:
    with engine.connect() as connection:
        return dict(map(tuple, connection.execute(select(capture.c.visit_id, capture.c.attempts))))


def let_leases_run_out(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.ingested == 0).values(leased_until=None))


def test_half_of_those_that_wait_come_along(
    engine: Engine, waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    first, *others = [waiting.archive() for _ in range(9)]
    assert ingester().ingest(first).outcome == "ingested"
    assert waiting.due() == others[4:], "the other half is for other workers; the oldest went first"
    assert samples(engine) == 5 * SAMPLES


def test_one_that_waits_alone_ingests_alone(
    waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    first, second = waiting.archive(), waiting.archive()
    ingester().ingest(first)
    assert waiting.due() == [second]


def test_no_more_come_along_than_fit(waiting: PendingCaptures, ingester: Callable[..., Ingester]) -> None:
    ids = [waiting.archive(raw_bytes=1000) for _ in range(9)]
    ingester(batch_bytes=2999).ingest(ids[0])
    assert waiting.due() == ids[3:]
    ingester(batch=2).ingest(ids[3])
    assert waiting.due() == ids[5:]
    ingester(batch=1).ingest(ids[5])
    assert waiting.due() == ids[6:]


def test_what_was_tried_before_is_tried_alone(
    engine: Engine, waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    ids = [waiting.archive() for _ in range(6)]
    with engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.visit_id.in_(ids[:3])).values(attempts=1))
    ingester().ingest(ids[0])
    assert waiting.due() == ids[1:], "it took nobody"
    ingester().ingest(ids[5])
    assert waiting.due() == [*ids[1:3], ids[4]], "it took one nobody had tried"


def test_one_that_is_no_capture_is_quarantined_and_the_others_ingest(
    engine: Engine, waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    first, good, bad, *_ = [waiting.archive(raw=b"\xff" if n == 2 else None) for n in range(7)]
    ingester().ingest(first)
    assert waiting.row(bad).quarantined is not None
    assert waiting.row(good).ingested == 1
    assert samples(engine) == 3 * SAMPLES


def test_a_failure_gives_back_only_the_one_it_is_of(
    engine: Engine, waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    first, bad, good, *_ = [waiting.archive() for _ in range(5)]

    def before(visit_id: UUID) -> None:
        if visit_id == bad:
            raise RuntimeError("a mistake of ours")

    assert ingester(before).ingest(first).outcome == "ingested"
    assert (waiting.row(bad).failure, waiting.row(bad).attempts) == ("RuntimeError: a mistake of ours", 1)
    assert waiting.row(good).ingested == 1


@pytest.mark.slow
def test_a_lease_given_back_is_not_renewed_while_the_others_are_read(
    engine: Engine,
    waiting: PendingCaptures,
    ingester: Callable[..., Ingester],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It rests and is anybody's then; renewed, it would wait for the slowest of the batch and longer."""
    bad, slow, *_ = [waiting.archive() for _ in range(5)]
    renewed: Queue[UUID] = Queue()
    renew = leases.renew

    def noted(connection: Connection, lease: Lease, *, seconds: float) -> bool:
        renewed.put(lease.visit_id)
        return renew(connection, lease, seconds=seconds)

    monkeypatch.setattr(lease_renewal, "renew", noted)
    seen: list[UUID] = []

    def before(visit_id: UUID) -> None:
        if visit_id == bad:
            raise RuntimeError("a mistake of ours")
        if visit_id == slow:
            while seen.count(slow) < 3:
                seen.append(renewed.get(timeout=60))

    ingester(before, seconds=3.0).ingest(bad)
    assert bad not in seen
    assert waiting.row(bad).failure == "RuntimeError: a mistake of ours"


@pytest.mark.slow
def test_a_capture_that_kills_its_worker_is_found_and_costs_the_others_one_attempt(
    engine: Engine, database_url: str, archive: Archive, waiting: PendingCaptures, tmp_path: Path
) -> None:
    ids = [waiting.archive() for _ in range(9)]
    poison = ids[2]

    def before(visit_id: UUID) -> None:
        if visit_id == poison:
            os.kill(os.getpid(), signal.SIGKILL)

    def worker(visit_id: UUID) -> int:
        child = os.fork()
        if child == 0:
            try:
                own = open_engine(database_url, application="ingester")
                resolver = HookedResolver(tmp_path / "cache", before)
                Ingester(own, archive, resolver, terms=LeaseTerms(attempts_limit=ATTEMPTS)).ingest(visit_id)
            finally:
                os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert worker(ids[0]) == -signal.SIGKILL
    assert attempts(engine) == {id_: int(n < 5) for n, id_ in enumerate(ids)}
    deaths = 1
    while True:
        let_leases_run_out(engine)
        due = waiting.due()
        if not due:
            break
        deaths += worker(due[0]) != 0
    assert deaths == ATTEMPTS
    assert waiting.row(poison).quarantined is not None
    assert all(waiting.row(id_).ingested == 1 for id_ in ids if id_ != poison)
    assert samples(engine) == 8 * SAMPLES


def test_a_lease_that_ran_out_and_was_taken_ingests_once(
    engine: Engine, waiting: PendingCaptures, ingester: Callable[..., Ingester]
) -> None:
    """The first worker is stopped, as by a suspended machine; another ingests all it held; then it goes on."""
    ids = [waiting.archive() for _ in range(7)]
    stolen: Iterator[UUID] = iter(ids[:1])

    def before(_: UUID) -> None:
        for _first in stolen:
            let_leases_run_out(engine)
            thief = ingester()
            for visit_id in waiting.due():
                thief.ingest(visit_id)

    result = ingester(before).ingest(ids[0])
    assert result.outcome == "already"
    assert samples(engine) == len(ids) * SAMPLES
    assert waiting.due() == []
    assert {waiting.row(id_).failure for id_ in ids} == {""}


def test_others_rows_are_never_waited_for(engine: Engine, waiting: PendingCaptures) -> None:
    ids = [waiting.archive() for _ in range(6)]
    with engine.begin() as connection:
        first = leases.lease(connection, waiting.archive(), seconds=60, attempts_limit=9)
    assert first is not None
    with engine.begin() as holder, engine.begin() as other:
        holder.execute(select(capture).where(capture.c.visit_id.in_(ids[:2])).with_for_update())
        other.exec_driver_sql("SET LOCAL lock_timeout = 100")
        taken = leases.lease_waiting(other, first, seconds=60, limit=5, raw_bytes=10**9)
        assert {lease.visit_id for lease in taken} == set(ids[2:4])
        assert {lease.attempt for lease in taken} == {1}
