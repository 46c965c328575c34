"""`fleetprof collector`: the process that draws and visits machines."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from services.settings import Settings, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from collector.events import Watcher

_GIVE_BACK_S = 15.0
"""Seconds between two trims of the heap. A rollup batch, once a minute, leaves three times as much free memory as the rest of the process needs."""


def collector(
    observe: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=(
                "Address of /healthz, /readyz and /metrics: HOST:PORT or unix:/PATH. Default: "
                "FLEETPROF_COLLECTOR_OBSERVE."
            ),
        ),
    ] = None,
) -> None:
    """Draw machines at random, visit them, and archive their captures.

    Runs until SIGTERM or Ctrl-C, then lets visits in progress finish for 10 s. Needs FLEETPROF_DATABASE_URL and
    FLEETPROF_REDIS_URL, and waits while one of them is unavailable. Several collectors may share one database:
    every round is drawn once.
    """
    from collector.run import Collector, Pace, run_until_signalled  # noqa: PLC0415 - a command imports what it runs
    from collector.visit import Visitor  # noqa: PLC0415
    from services.allocator import keep_giving_back, reuse_arrays, share_arenas  # noqa: PLC0415
    from services.asking import ask_terms  # noqa: PLC0415
    from services.gateway_credentials import gateway_credentials  # noqa: PLC0415
    from services.logs import log_to_stderr  # noqa: PLC0415
    from services.observing import checks  # noqa: PLC0415
    from services.observing.address import allowed  # noqa: PLC0415
    from services.observing.collector import CollectorMetrics  # noqa: PLC0415
    from services.observing.readiness import Readiness  # noqa: PLC0415
    from services.observing.server import ObservingServer  # noqa: PLC0415
    from storage.archive import Archive  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.retention.retain import Keep  # noqa: PLC0415
    from symbolizer.worker.broker import make_caller, make_sender  # noqa: PLC0415

    share_arenas()
    reuse_arrays()
    keep_giving_back(_GIVE_BACK_S)
    settings = read_settings(collector_observe=observe)
    log_to_stderr()
    address = allowed(settings.collector_observe, openly=settings.observe_openly)
    metrics = CollectorMetrics()
    engine = open_engine(settings.needed_database_url(), application="collector")
    archive = Archive(settings.archive)
    call_workers = make_caller(settings.needed_redis_url())
    with ExitStack() as ending:
        ending.callback(engine.dispose)
        if address is not None:
            readiness = Readiness(
                {
                    "database": checks.database(settings.needed_database_url()),
                    "archive": checks.archive(settings.archive),
                    "rounds": metrics.looks,
                }
            )
            observing = ObservingServer(address, readiness, metrics.text)
            ending.callback(observing.close)
            observing.start()
        run_until_signalled(
            Collector(
                engine,
                archive,
                make_sender(settings.needed_redis_url()),
                lambda key: call_workers(key, ""),
                visitor=Visitor(gateway_credentials(settings)),
                watcher=metrics.watch,
                asks=ask_terms(settings, engine, archive),
                tend_lake=_lake_tender(settings, engine, metrics.watch),
                stack_bytes=settings.collector_stack_bytes,
                pace=Pace(
                    concurrent_visits=settings.concurrent_visits,
                    keep=Keep(
                        settings.retention_days,
                        settings.cell_retention_days,
                        settings.symbol_retention_days,
                        settings.source_copies_bytes,
                    ),
                ),
            )
        )
    typer.echo("The collector has ended.", err=True)


def _lake_tender(
    settings: Settings, engine: "Engine", watcher: "Watcher"
) -> "Callable[[datetime, Callable[[], bool]], None] | None":
    """Exporter of closed days. Arrow and DuckDB, 60 MB, are imported only if there is a lake."""
    if settings.lake_url is None:
        return None
    from collector.lake import LakeTerms, tend  # noqa: PLC0415
    from services.lake import limits_of, needed_lake  # noqa: PLC0415

    terms = LakeTerms(
        needed_lake(settings), settings.lake_retention_days, limits_of(settings), settings.retention_days
    )
    return lambda now, stopping: tend(engine, terms, now, stopping, watcher)
