"""The queue of landing tasks, as those who fill it see it."""

from collections.abc import Callable
from uuid import UUID

TASK = "symbolizer.land_capture"


def landing_queue(redis_url: str) -> Callable[[UUID], None]:
    """A function that puts one capture's landing on the queue of this broker.

    It raises what Celery's broker client raises, soon: nobody waits here for a broker that is away.
    """
    from celery import Celery  # noqa: PLC0415 - slow to import

    app = Celery("fleetprof", broker=redis_url)
    app.conf.update(
        task_ignore_result=True,
        broker_connection_timeout=2,
        broker_transport_options={"socket_connect_timeout": 2, "socket_timeout": 5},
    )

    def send(visit_id: UUID) -> None:
        app.send_task(TASK, args=[str(visit_id)], retry=False)

    return send
