"""`fleetprof worker`: symbolizes and lands captures."""

import os
import platform
from typing import Annotated

import typer

from services.settings import read_settings


def worker(
    processes: Annotated[
        int | None,
        typer.Option(min=0, help="Pool processes; 0: one for each CPU. Default: FLEETPROF_WORKER_PROCESSES."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR.")] = "INFO",
) -> None:
    """Run a symbolizer worker: it takes captures from the queue, names their functions, and lands them.

    Needs FLEETPROF_DATABASE_URL, FLEETPROF_REDIS_URL and FLEETPROF_ARCHIVE_URL. Run as many as keep
    up; one that is killed loses nothing.
    """
    from symbolizer.locate import DEBUG_ROOTS, LocalFiles  # noqa: PLC0415 - a command imports what it runs
    from symbolizer.tasks import make_app, worker_main  # noqa: PLC0415

    settings = read_settings(worker_processes=processes)
    app = make_app(
        settings.needed_redis_url(),
        database_url=settings.needed_database_url(),
        archive_url=settings.archive,
        cache_dir=settings.symbol_cache,
        make_source=lambda: LocalFiles(debug_roots=(*settings.symbol_dirs, *DEBUG_ROOTS)),
    )
    worker_main(
        app,
        processes=settings.worker_processes,
        log_level=log_level,
        name=f"worker-{platform.node()}-{os.getpid()}",
    )
