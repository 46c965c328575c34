"""`fleetprof worker`: symbolizes and ingests captures."""

import os
import platform
from typing import Annotated, Any

import typer

from services.configuration.settings import read_settings

_TRIM_INTERVAL_S = 15.0
"""Seconds between two trims of the heap. Ingesting sixteen captures frees tens of MiB; the C library keeps the peak."""


def worker(
    processes: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Processes of the pool; 0: one for each usable CPU. Default: FLEETPROF_WORKER_PROCESSES.",
        ),
    ] = None,
    partitions: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF",
            help="Prefer captures of these partitions: 2/3 for the second of three workers. Default: FLEETPROF_WORKER_PARTITIONS.",
        ),
    ] = None,
    metrics_listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=(
                "Address of /healthz, /readyz and /metrics: HOST:PORT or unix:/PATH. "
                "Default: FLEETPROF_WORKER_METRICS_LISTEN."
            ),
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(help="Minimum severity of log lines: DEBUG, INFO, WARNING or ERROR.")
    ] = "INFO",
) -> None:
    """Run a symbolizer worker, which takes captures from the queue, symbolizes them, and ingests them.

    Needs FLEETPROF_DATABASE_URL, FLEETPROF_REDIS_URL and FLEETPROF_ARCHIVE_URL. Run enough workers to keep up with the visits.
    A killed worker loses no data. Captures of the same program go to the same worker while it keeps up; an idle worker takes
    captures of other workers.
    """
    from billiard import current_process  # noqa: PLC0415 - a command imports what it runs
    from celery.signals import worker_process_init, worker_ready  # noqa: PLC0415

    from services.monitoring import readiness_checks  # noqa: PLC0415
    from services.monitoring.metrics_address import listen_address  # noqa: PLC0415
    from services.monitoring.metrics_server import MetricsServer  # noqa: PLC0415
    from services.monitoring.readiness import Readiness  # noqa: PLC0415
    from services.monitoring.worker_metrics import WorkerMetrics  # noqa: PLC0415
    from services.process_setup.cpus import usable_cpus  # noqa: PLC0415
    from services.process_setup.malloc import reuse_arrays, share_arenas, trim_periodically  # noqa: PLC0415
    from symbolizer.sources.chain import SourceSettings  # noqa: PLC0415
    from symbolizer.sources.local_files import DEBUG_ROOTS  # noqa: PLC0415
    from symbolizer.worker.idle_exit import IdleExit  # noqa: PLC0415
    from symbolizer.worker.memory_limit import limit_memory  # noqa: PLC0415
    from symbolizer.worker.routing import ALL_PARTITIONS, WorkerPartitions  # noqa: PLC0415
    from symbolizer.worker.tasks import make_app, worker_main  # noqa: PLC0415

    settings = read_settings(
        worker_processes=processes, worker_partitions=partitions, worker_metrics_listen=metrics_listen
    )
    address = listen_address(settings.worker_metrics_listen, allow_remote=settings.metrics_allow_remote)
    count = settings.worker_processes or usable_cpus()
    metrics = WorkerMetrics(count, settings.needed_redis_url())
    metrics_server = None
    if address is not None:
        readiness = Readiness(
            {
                "database": readiness_checks.database(settings.needed_database_url()),
                "broker": readiness_checks.broker(settings.needed_redis_url()),
                "archive": readiness_checks.archive(settings.archive),
                "pool": metrics.has_workers,
            }
        )
        metrics_server = MetricsServer(address, readiness, metrics.text)
        metrics_server.start()

    def begin(**_: object) -> None:
        """Set up each process of the pool after its fork, which copies no threads."""
        if metrics_server is not None:
            metrics_server.close_in_child()
        metrics.use_slot(getattr(current_process(), "index", 0))
        limit_memory(settings.worker_memory_bytes)
        share_arenas()
        reuse_arrays()
        trim_periodically(_TRIM_INTERVAL_S)
        IdleExit().end_when_idle()

    def ready(sender: Any, **_: object) -> None:
        """Note in the parent that the worker accepts tasks."""
        metrics.has_pool(sender.pool)

    worker_process_init.connect(begin, weak=False)
    worker_ready.connect(ready, weak=False)
    share = (
        WorkerPartitions.parse(settings.worker_partitions) if settings.worker_partitions else ALL_PARTITIONS
    )
    app = make_app(
        settings.needed_redis_url(),
        database_url=settings.needed_database_url(),
        archive_url=settings.archive,
        places=SourceSettings(
            settings.symbol_cache,
            debug_roots=(*settings.symbol_dirs, *DEBUG_ROOTS),
            debuginfod_urls=settings.debuginfod_urls,
            download_bytes=settings.symbol_download_bytes,
            copies_bytes=settings.symbol_copies_bytes,
        ),
        cache_bytes=settings.symbol_cache_bytes,
        stack_bytes=settings.worker_id_cache_bytes,
        watcher=metrics.watch,
    )
    try:
        worker_main(
            app,
            processes=count,
            log_level=log_level,
            name=f"worker-{platform.node()}-{os.getpid()}",
            share=share,
        )
    finally:
        if metrics_server is not None:
            metrics_server.close()
