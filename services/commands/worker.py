"""`fleetprof worker`: symbolizes and lands captures."""

import os
import platform
from typing import Annotated

import typer

from services.settings import read_settings

_GIVE_BACK_S = 15.0
"""A landing of sixteen captures leaves tens of MiB free, and the C library keeps the most there ever was."""


def worker(
    processes: Annotated[
        int | None,
        typer.Option(min=0, help="Pool processes; 0: one for each CPU. Default: FLEETPROF_WORKER_PROCESSES."),
    ] = None,
    partitions: Annotated[
        str | None,
        typer.Option(
            metavar="N/OF",
            help="Take captures of this share of the partitions first, e.g. 2/3. Default: FLEETPROF_WORKER_PARTITIONS.",
        ),
    ] = None,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run a symbolizer worker: it takes captures from the queue, names their functions, and lands them.

    Needs FLEETPROF_DATABASE_URL, FLEETPROF_REDIS_URL and FLEETPROF_ARCHIVE_URL. Run as many as keep
    up; one that is killed loses nothing. Captures whose machines run the same program go to the same
    worker while it keeps up; a worker with nothing of its own to do helps the others.
    """
    from celery.signals import worker_process_init  # noqa: PLC0415 - a command imports what it runs

    from services.allocator import keep_giving_back, share_arenas  # noqa: PLC0415
    from symbolizer.sources.chain import SourcePlaces  # noqa: PLC0415
    from symbolizer.sources.local_files import DEBUG_ROOTS  # noqa: PLC0415
    from symbolizer.worker.routing import WHOLE, Share  # noqa: PLC0415
    from symbolizer.worker.tasks import make_app, worker_main  # noqa: PLC0415

    def begin(**_: object) -> None:
        """Of every process of the pool, once it is forked: threads do not come along."""
        share_arenas()
        keep_giving_back(_GIVE_BACK_S)

    worker_process_init.connect(begin, weak=False)
    settings = read_settings(worker_processes=processes, worker_partitions=partitions)
    share = Share.parse(settings.worker_partitions) if settings.worker_partitions else WHOLE
    app = make_app(
        settings.needed_redis_url(),
        database_url=settings.needed_database_url(),
        archive_url=settings.archive,
        places=SourcePlaces(
            settings.symbol_cache,
            debug_roots=(*settings.symbol_dirs, *DEBUG_ROOTS),
            debuginfod_urls=settings.debuginfod_urls,
            download_bytes=settings.symbol_download_bytes,
            copies_bytes=settings.symbol_copies_bytes,
        ),
        cache_bytes=settings.symbol_cache_bytes,
    )
    worker_main(
        app,
        processes=settings.worker_processes,
        log_level=log_level,
        name=f"worker-{platform.node()}-{os.getpid()}",
        share=share,
    )
