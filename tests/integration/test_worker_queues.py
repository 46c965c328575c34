"""GIVEN messages in many queues of a real broker WHEN a worker takes them THEN in its own order of urgency."""

import threading
from collections.abc import Callable, Sequence
from queue import Queue
from uuid import UUID, uuid4

import pytest
import redis

from storage.captures import Due
from storage.work_partitions import PARTITIONS
from symbolizer.worker import routing
from symbolizer.worker.broker import (
    BUILD_SYMCACHE,
    INGEST_CAPTURE,
    NAME_FUNCTIONS,
    make_broker,
    make_caller,
    make_sender,
)
from symbolizer.worker.routing import WorkerPartitions, queues

pytestmark = pytest.mark.integration

WORKER = "w"


def taken(broker_url: str, order: Sequence[str], messages: int) -> list[str]:
    """What a worker with one process takes of the waiting messages, by what each is about, in order.

    A consumer as Celery's worker makes one: the same channel, the same subscriptions, one message at a time.
    """
    app = make_broker(broker_url)
    found: list[str] = []
    with app.connection_for_read() as connection, connection.channel() as channel:
        app.amqp.queues.select(order)

        def receive(body: object, message: object) -> None:
            found.append(str(body[0][0]))  # type: ignore[index]  # Celery's protocol: (args, kwargs, embed)
            message.ack()  # type: ignore[attr-defined]  # kombu's Message

        consumer = app.amqp.TaskConsumer(channel, callbacks=[receive])
        consumer.qos(prefetch_count=1)
        with consumer:
            while len(found) < messages:
                connection.drain_events(timeout=20)
    return found


@pytest.mark.parametrize("share", [WorkerPartitions(1, 1), WorkerPartitions(2, 3)], ids=["all", "2/3"])
def test_messages_are_taken_by_urgency_and_equals_by_turns(valkey_url: str, share: WorkerPartitions) -> None:
    """A queue that is never empty would keep all that come after it waiting for ever."""
    send, call = make_sender(valkey_url), make_caller(valkey_url)
    about: dict[str, list[str]] = {}
    for again in (True, False):
        for partition in range(PARTITIONS):
            for _ in range(2):
                due = Due(uuid4(), 1, partition, again)
                send(due)
                queue = routing.reprocess_queue(partition) if again else routing.new_queue(partition)
                about.setdefault(queue, []).append(str(due.visit_id))
    make_broker(valkey_url).send_task(BUILD_SYMCACHE, args=["aa", "/usr/bin/a"])
    about[routing.BUILDS] = ["aa"]
    call("bb", "it was uploaded")
    about[routing.NAMES] = ["bb"]
    order = queues(share, WORKER)
    rank = routing.ranks(order)
    expected = [
        about[queue][turn]
        for urgency in range(5)
        for turn in range(2)
        for queue in order
        if rank[queue] == urgency and turn < len(about[queue])
    ]
    assert taken(valkey_url, order, len(expected)) == expected


def test_what_comes_later_but_is_more_urgent_is_taken_first(valkey_url: str) -> None:
    send = make_sender(valkey_url)
    order = queues(WorkerPartitions(1, 2), WORKER)
    theirs, mine = Due(uuid4(), 1, 1, again=False), Due(uuid4(), 1, 0, again=False)
    old = Due(uuid4(), 2, 0, again=True)
    for due in (old, theirs, mine):
        send(due)
    assert taken(valkey_url, order, 3) == [str(due.visit_id) for due in (mine, theirs, old)]


def test_a_worker_subscribes_in_that_order_and_takes_every_task(valkey_url: str) -> None:
    """A whole Celery worker, in a thread: what it is told with --queues is what it looks through."""
    app = make_broker(valkey_url)
    took: Queue[tuple[str, str]] = Queue()

    def notes(name: str) -> Callable[..., None]:
        def note(*arguments: str) -> None:
            took.put((name, arguments[0]))

        return note

    for name in (INGEST_CAPTURE, BUILD_SYMCACHE, NAME_FUNCTIONS):
        app.task(name=name)(notes(name))
    send, call = make_sender(valkey_url), make_caller(valkey_url)
    fresh, again = Due(UUID(int=1), 1, 3, again=False), Due(UUID(int=2), 2, 5, again=True)
    send(again)
    send(fresh)
    app.send_task(BUILD_SYMCACHE, args=["aa", ""])
    call("bb", "")
    app.amqp.queues.select(queues(WorkerPartitions(1, 1), WORKER))
    worker = app.WorkController(pool="solo", concurrency=1, hostname="order@test", loglevel="ERROR")
    thread = threading.Thread(target=worker.start, daemon=True)
    thread.start()
    try:
        found = [took.get(timeout=60) for _ in range(4)]
    finally:
        worker.stop()
        thread.join(30)
    assert not thread.is_alive()
    assert found == [
        (NAME_FUNCTIONS, "bb"),
        (INGEST_CAPTURE, str(fresh.visit_id)),
        (BUILD_SYMCACHE, "aa"),
        (INGEST_CAPTURE, str(again.visit_id)),
    ]


def test_every_queue_is_one_list(valkey_url: str) -> None:
    """BRPOP is given every list of a worker each second: four for each queue would be 136."""
    send = make_sender(valkey_url)
    for partition in range(PARTITIONS):
        send(Due(uuid4(), 1, partition, again=False))
    with redis.Redis.from_url(
        valkey_url.replace("redis+socket://", "unix://").replace("virtual_host", "db")
    ) as client:
        lists = {key.decode() for key in client.scan_iter("symbolizer.*")}
    assert lists == {routing.new_queue(partition) for partition in range(PARTITIONS)}
