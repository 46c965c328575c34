"""`fleetprof collector`: the process that draws and visits machines."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import Settings, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Engine

    from collector.events import Watcher

_TRIM_INTERVAL_S = 15.0
"""Seconds between two trims of the heap. A rollup batch, once a minute, leaves three times as much free memory as the
rest of the process needs."""


def collector(
    metrics_listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=(
                "Address of /healthz, /readyz and /metrics: HOST:PORT or unix:/PATH. Default: "
                "FLEETPROF_COLLECTOR_METRICS_LISTEN."
            ),
        ),
    ] = None,
) -> None:
    """Draw machines at random, visit them, and archive their captures.

    Runs until SIGTERM or Ctrl-C, then waits at most 10 s for running visits. Needs FLEETPROF_DATABASE_URL and
    FLEETPROF_REDIS_URL, and waits while one of them is unavailable. Several collectors may share one database:
    every round is drawn once.
    """
    from collector.run import Collector, Pace, run_until_signalled  # noqa: PLC0415 - a command imports what it runs
    from collector.visit import Visitor  # noqa: PLC0415
    from services.configuration.gateway_credentials import gateway_credentials  # noqa: PLC0415
    from services.monitoring import readiness_checks  # noqa: PLC0415
    from services.monitoring.collector_metrics import CollectorMetrics  # noqa: PLC0415
    from services.monitoring.metrics_address import listen_address  # noqa: PLC0415
    from services.monitoring.metrics_server import MetricsServer  # noqa: PLC0415
    from services.monitoring.readiness import Readiness  # noqa: PLC0415
    from services.process_setup.logs import log_to_stderr  # noqa: PLC0415
    from services.process_setup.malloc import reuse_arrays, share_arenas, trim_periodically  # noqa: PLC0415
    from services.symbols.gateway_uploads import symbol_request_terms  # noqa: PLC0415
    from storage.archive import Archive  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.retention.retain import Keep  # noqa: PLC0415
    from symbolizer.worker.broker import make_caller, make_sender  # noqa: PLC0415

    share_arenas()
    reuse_arrays()
    trim_periodically(_TRIM_INTERVAL_S)
    settings = read_settings(collector_metrics_listen=metrics_listen)
    log_to_stderr()
    address = listen_address(settings.collector_metrics_listen, allow_remote=settings.metrics_allow_remote)
    metrics = CollectorMetrics()
    engine = open_engine(settings.needed_database_url(), application="collector")
    archive = Archive(settings.archive)
    call_workers = make_caller(settings.needed_redis_url())
    with ExitStack() as ending:
        ending.callback(engine.dispose)
        if address is not None:
            readiness = Readiness(
                {
                    "database": readiness_checks.database(settings.needed_database_url()),
                    "archive": readiness_checks.archive(settings.archive),
                    "rounds": metrics.looks,
                }
            )
            metrics_server = MetricsServer(address, readiness, metrics.text)
            ending.callback(metrics_server.close)
            metrics_server.start()
        run_until_signalled(
            Collector(
                engine,
                archive,
                make_sender(settings.needed_redis_url()),
                lambda key: call_workers(key, ""),
                visitor=Visitor(gateway_credentials(settings)),
                watcher=metrics.watch,
                symbol_requests=symbol_request_terms(settings, engine, archive),
                lake_job=_lake_tender(settings, engine, metrics.watch),
                nightly_job=_nightly_job(settings, engine),
                stack_bytes=settings.collector_stack_cache_bytes,
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
    from collector.lake import LakeTerms, maintain_lake  # noqa: PLC0415
    from services.configuration.lake_settings import limits_of, needed_lake  # noqa: PLC0415

    terms = LakeTerms(
        needed_lake(settings), settings.lake_retention_days, limits_of(settings), settings.retention_days
    )
    return lambda now, stopping: maintain_lake(engine, terms, now, stopping, watcher)


def _nightly_job(settings: Settings, engine: "Engine") -> "Callable[[datetime, Callable[[], bool]], None]":
    """Computes a night's regressions when they are due."""
    from collector.nightly import compute_regressions  # noqa: PLC0415 - a command imports what it runs
    from services.configuration.lake_settings import older_days  # noqa: PLC0415
    from storage.snapshots.query_budget import Limits  # noqa: PLC0415

    limits, older = Limits(settings.query_seconds, settings.query_bytes), older_days(settings)
    return lambda now, stopping: compute_regressions(engine, limits, now, stopping, older)
