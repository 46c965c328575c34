"""GIVEN more captures than workers can ingest WHEN they wait by program THEN those of all programs wait alike."""

from collections import Counter, defaultdict, deque
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, update

from storage import captures, leases
from storage.leases import AHEAD
from storage.schema import capture
from storage.work_partitions import PARTITIONS
from symbolizer.worker import routing
from symbolizer.worker.queue_rotation import QueueRotation
from symbolizer.worker.routing import WorkerPartitions
from tests.integration.storage.recorded import NOON, archived, ingest, lease, wake

pytestmark = pytest.mark.integration

TOGETHER = 16
EVERY = timedelta(seconds=2)


def arrive(engine: Engine, partitions: list[int]) -> dict[UUID, tuple[int, datetime]]:
    """Captures that wait, one every two seconds until noon: the partition and the moment of each."""
    ids = archived(engine, len(partitions))
    came = {
        visit_id: (partition, NOON - EVERY * (len(ids) - place))
        for place, (visit_id, partition) in enumerate(zip(ids, partitions, strict=True))
    }
    with engine.begin() as connection:
        for visit_id, (partition, moment) in came.items():
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == visit_id)
                .values(partition=partition, archived_at=moment)
            )
    return came


def take(engine: Engine, visit_id: UUID) -> list[UUID]:
    """What a worker leases that is told of this one, as `symbolizer.worker.ingestion` does."""
    with engine.begin() as connection:
        first = leases.lease_first(connection, visit_id, seconds=60, attempts_limit=5)
        if first is None:
            return []
        others = leases.lease_waiting(connection, first, seconds=60, limit=TOGETHER - 1, raw_bytes=10**9)
    return [first.visit_id, *(one.visit_id for one in others)]


class Worker:
    """Takes a message from the queues in a worker's order, and ingests what it leases."""

    def __init__(self, engine: Engine, share: WorkerPartitions, queues: dict[str, deque[UUID]]) -> None:
        self._engine = engine
        self._queues = queues
        self._turns = QueueRotation()
        self._turns.update(routing.queues(share, "w"))

    def work(self) -> list[UUID]:
        queue = next(queue for queue in self._turns.consume(99) if self._queues.get(queue))
        self._turns.rotate(queue)
        taken = take(self._engine, self._queues[queue].popleft())
        for visit_id in taken:
            ingest(self._engine, visit_id, 1)
        return taken


@pytest.mark.slow
@pytest.mark.parametrize(
    "shares", [(routing.ALL_PARTITIONS,), (WorkerPartitions(1, 2), WorkerPartitions(2, 2))]
)
def test_no_program_is_ingested_long_before_the_others(
    engine: Engine, shares: tuple[WorkerPartitions, ...]
) -> None:
    """Most machines run one program: its captures would wait while the others' queues are empty."""
    chances = np.array([0.5, 0.2, *[0.3 / (PARTITIONS - 2)] * (PARTITIONS - 2)])
    partitions = np.random.default_rng(5).choice(PARTITIONS, 600, p=chances).tolist()
    came = arrive(engine, partitions)
    queues: dict[str, deque[UUID]] = defaultdict(deque)
    for visit_id, (partition, _) in came.items():
        queues[routing.new_queue(partition)].append(visit_id)
    workers = [Worker(engine, share, queues) for share in shares]
    waiting = dict(came)
    batches = 0
    while waiting:
        for worker in workers:
            if not waiting:
                break
            taken = worker.work()
            batches += bool(taken)
            newest = max((waiting.pop(visit_id)[1] for visit_id in taken), default=NOON - EVERY * 601)
            oldest = min((moment for _, moment in waiting.values()), default=NOON)
            assert newest <= oldest + 2 * AHEAD
    assert batches < len(came) / 3, "they are still ingested together"
    assert Counter(partitions).most_common(1)[0][1] > 250


def test_what_is_ingested_already_is_a_turn_of_another(engine: Engine) -> None:
    """Its message was spent on one that was older."""
    came = arrive(engine, [3, 4, 4])
    old, young, last = came
    with engine.begin() as connection:
        connection.execute(
            update(capture).where(capture.c.visit_id == old).values(archived_at=NOON - timedelta(hours=1))
        )
    assert take(engine, last) == [old], "nothing else came in the same minute"
    assert take(engine, old) == [young]
    ingest(engine, old, 1)
    assert take(engine, old) == [last]
    assert take(engine, old) == []


def test_a_capture_that_failed_keeps_nobody_waiting_and_has_its_own_turn(engine: Engine) -> None:
    failed, young, last = arrive(engine, [1, 2, 2])
    with engine.begin() as connection:
        for visit_id, age in ((failed, 3), (young, 2), (last, 0)):
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == visit_id)
                .values(archived_at=NOON - timedelta(hours=age))
            )
    assert lease(engine, failed)
    with engine.begin() as connection:
        leases.release(connection, failed, why="no symbols server")
    assert take(engine, last) == [young]
    wake(engine, failed)
    assert take(engine, failed) == [failed], "the last one waits for its own"
    assert take(engine, last) == [last]


def test_what_is_ingested_again_keeps_no_fresh_one_waiting(engine: Engine) -> None:
    again, fresh = arrive(engine, [1, 2])
    with engine.begin() as connection:
        connection.execute(
            update(capture)
            .where(capture.c.visit_id == again)
            .values(ingested=1, wanted=2, archived_at=func.clock_timestamp() - timedelta(days=9))
        )
    assert take(engine, fresh) == [fresh]
    assert take(engine, again) == [again]
    with engine.connect() as connection:
        assert captures.due(connection, limit=9) == []
        assert connection.scalar(select(func.max(capture.c.attempts))) == 1


def test_of_two_workers_only_one_takes_the_oldest(engine: Engine) -> None:
    old, young, last = arrive(engine, [1, 2, 3])
    with engine.begin() as connection:
        connection.execute(
            update(capture).where(capture.c.visit_id == old).values(archived_at=NOON - timedelta(hours=1))
        )
    with engine.begin() as first, engine.begin() as second:
        second.exec_driver_sql("SET LOCAL lock_timeout = 100")
        taken = [
            leases.lease_first(connection, visit_id, seconds=60, attempts_limit=5)
            for connection, visit_id in ((first, young), (second, last))
        ]
    assert [one.visit_id for one in taken if one] == [old, last]
