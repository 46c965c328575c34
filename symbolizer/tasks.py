"""The worker's Celery task, and the entry point of its process."""

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from uuid import UUID

from celery import Celery

from storage.archive import Archive
from storage.database import open_engine
from symbolizer.broker import LAND_CAPTURE, make_broker
from symbolizer.build import BuildLimits
from symbolizer.landing import DEFAULT_TERMS, Lander, LeaseTerms
from symbolizer.locate import LocalFiles
from symbolizer.resolve import Resolver
from symbolizer.routing import WHOLE, Share, queues
from symbolizer.sources import SymbolSource


def make_app(
    broker_url: str,
    *,
    database_url: str,
    archive_url: str,
    cache_dir: Path,
    terms: LeaseTerms = DEFAULT_TERMS,
    limits: BuildLimits | None = None,
    make_source: Callable[[], SymbolSource] = LocalFiles,
) -> Celery:
    """The application with the task `symbolizer.land_capture(visit_id)`.

    Nothing is opened before the first task of a process: connections and caches are made after the
    fork, once for each process, and stay with it.
    """
    app = make_broker(broker_url)
    landers: dict[int, Lander] = {}

    def lander() -> Lander:
        process = os.getpid()
        if process not in landers:
            landers.clear()  # a parent's, if this process was forked from one that worked itself
            landers[process] = Lander(
                open_engine(database_url, application="worker", pool_size=2),
                Archive(archive_url),
                Resolver(make_source(), cache_dir, limits=limits),
                terms=terms,
            )
        return landers[process]

    @app.task(name=LAND_CAPTURE)
    def land_capture(visit_id: str) -> None:
        lander().land(UUID(visit_id))

    return app


def worker_main(
    app: Celery,
    *,
    processes: int = 0,
    pool: Literal["prefork", "solo"] = "prefork",
    log_level: str = "INFO",
    name: str = "worker",
    share: Share = WHOLE,
) -> None:
    """Run a worker of the application until SIGTERM or SIGINT, which let running tasks finish.

    `processes` 0 means one for each CPU this process may use. `name` must differ between the workers
    of one machine. It takes from the partitions of its `share` first, and from the others when those wait for nobody.
    """
    count = processes or len(os.sched_getaffinity(0))
    app.worker_main(
        [
            "worker",
            f"--pool={pool}",
            f"--concurrency={count}",
            f"--loglevel={log_level}",
            f"--hostname={name}@%h",
            f"--queues={','.join(queues(share, f'{name}@{platform.node()}'))}",
            "--without-mingle",
            "--without-gossip",
            "--without-heartbeat",
        ]
    )
