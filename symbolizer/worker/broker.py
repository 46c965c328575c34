"""The Celery application that connects senders of tasks and workers: names of tasks, connection to the broker.

    task                                    queue                         sent by
    symbolizer.ingest_capture(visit id)     symbolizer.new.0…15,          the collector, its sweep
                                            symbolizer.reprocess.0…15
    symbolizer.build_symcache(key, path)    symbolizer.builds             a worker, for large debug files
    symbolizer.name_functions(key, why)     symbolizer.names              an upload, a gateway's response, the sweep

Messages need not be reliable: PostgreSQL has what remains to be ingested, and a sweep sends it again. So
a message may be lost or delivered twice, and results of tasks are not stored.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from kombu import Connection

from storage.captures import Due
from symbolizer.worker import routing
from symbolizer.worker.queue_rotation import QueueRotation
from symbolizer.worker.transport import Transport

INGEST_CAPTURE: Final = "symbolizer.ingest_capture"
"""Task with one argument, the visit's id as text."""
BUILD_SYMCACHE: Final = "symbolizer.build_symcache"
"""Task with one or two arguments, the binary's key and its path on a sampled machine."""
NAME_FUNCTIONS: Final = "symbolizer.name_functions"
"""Task with two arguments, the key of a binary whose symbols may have improved, and why, as a sentence."""

LONGEST_TASK_S: Final = 1800
"""A task that takes longer is killed; its capture's lease expires and it is tried again."""
_VISIBILITY_S: Final = 2 * LONGEST_TASK_S
"""A message unacknowledged for this long is delivered again: must exceed the duration of any task."""


class _OneBroker(Celery):
    """Connects only to the broker that it was made with.

    Celery prefers CELERY_BROKER_URL, its _READ_ and _WRITE_ variants and, in a worker, BROKER_URL to its configuration:
    variables of another program in the same shell would send captures to that program's broker.
    """

    def __init__(self, name: str, url: str) -> None:
        super().__init__(name, broker=url, set_as_current=False)
        self._url = url

    def connection_for_read(self, url: str | None = None, **kwargs: Any) -> Connection:
        """The connection for consumers; ignores Celery's `url`, which may come from the environment."""
        del url
        connection = super().connection_for_read(self._url, **kwargs)
        connection.transport_cls = f"{Transport.__module__}:{Transport.__qualname__}"
        return connection

    def connection_for_write(self, url: str | None = None, **kwargs: Any) -> Connection:
        """The connection for producers, also used by `connection` and the connection pools."""
        del url
        return super().connection_for_write(self._url, **kwargs)


def make_broker(broker_url: str) -> Celery:
    """A Celery application that sends to and receives from this broker only; connects on first use.

    `broker_url` is redis://…, rediss://…, redis+socket:///path?virtual_host=0 or unix:///path?db=0.
    """
    app = _OneBroker("symbolizer", _as_kombu_spells_it(broker_url))
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        worker_enable_remote_control=False,  # else the broker could stop workers and start processes
        task_ignore_result=True,
        task_default_queue=routing.NAMES,
        task_routes={BUILD_SYMCACHE: {"queue": routing.BUILDS}, NAME_FUNCTIONS: {"queue": routing.NAMES}},
        task_acks_late=True,
        task_acks_on_failure_or_timeout=True,
        task_reject_on_worker_lost=True,  # else a killed pool process takes its message with it
        task_time_limit=LONGEST_TASK_S,
        task_soft_time_limit=LONGEST_TASK_S - 60,
        worker_prefetch_multiplier=1,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": _VISIBILITY_S,
            "unacked_restore_throttle": 1,
            "socket_timeout": 30,
            "socket_connect_timeout": 5,
            "queue_order_strategy": f"{QueueRotation.__module__}:{QueueRotation.__qualname__}",
            "priority_steps": [0],  # one list per queue; kombu's default is four
        },
    )
    return app


def make_sender(broker_url: str) -> Callable[[Due], None]:
    """A function that puts the ingestion of a capture on the queue of its partition.

    It raises the errors of the broker's client (kombu's OperationalError) at once: its callers have a sweep
    that sends again.
    """
    app = make_broker(broker_url)

    def send(due: Due) -> None:
        queue = routing.reprocess_queue(due.partition) if due.again else routing.new_queue(due.partition)
        app.send_task(INGEST_CAPTURE, args=[str(due.visit_id)], queue=queue, retry=False, ignore_result=True)

    return send


def make_caller(broker_url: str) -> Callable[[str, str], None]:
    """A function that announces new symbols: takes a binary's key, and a sentence about their source ('': none).

    A worker then names the binary's functions at once. Raises as `make_sender`'s function does; callers may
    ignore errors, because the collector's sweep announces again.
    """
    app = make_broker(broker_url)

    def call(key: str, why: str) -> None:
        app.send_task(NAME_FUNCTIONS, args=[key, why], retry=False, ignore_result=True)

    return call


def _as_kombu_spells_it(url: str) -> str:
    """Translates redis-py's unix:///path?db=1 to kombu's redis+socket:///path?virtual_host=1."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    return f"redis+socket://{parts.path}?virtual_host={parse_qs(parts.query).get('db', ['0'])[0]}"
