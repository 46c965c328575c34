"""`fleetprof collector`: the process that draws machines and visits them."""

import typer

from services.settings import read_settings

_GIVE_BACK_S = 15.0
"""Merging, once a minute, leaves three times as much free as the rest of the process needs."""


def collector() -> None:
    """Draw machines at random, visit them, archive what they bring.

    Runs until SIGTERM or Ctrl-C, then lets visits under way finish for 10 s. Needs
    FLEETPROF_DATABASE_URL and FLEETPROF_REDIS_URL; waits for either when it is away. Several
    collectors may share one database: every round is drawn once.
    """
    from collector.run import Collector, Pace, run_until_signalled  # noqa: PLC0415 - a command imports what it runs
    from collector.visit import Visitor  # noqa: PLC0415
    from services.allocator import keep_giving_back, share_arenas  # noqa: PLC0415
    from services.asking import ask_terms  # noqa: PLC0415
    from services.gateway_credentials import gateway_credentials  # noqa: PLC0415
    from services.logs import log_to_stderr  # noqa: PLC0415
    from storage.archive import Archive  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.retention.retain import Keep  # noqa: PLC0415
    from symbolizer.worker.broker import make_caller, make_sender  # noqa: PLC0415

    share_arenas()
    keep_giving_back(_GIVE_BACK_S)
    settings = read_settings()
    log_to_stderr()
    engine = open_engine(settings.needed_database_url(), application="collector")
    archive = Archive(settings.archive)
    call_workers = make_caller(settings.needed_redis_url())
    try:
        run_until_signalled(
            Collector(
                engine,
                archive,
                make_sender(settings.needed_redis_url()),
                lambda key: call_workers(key, ""),
                visitor=Visitor(gateway_credentials(settings)),
                asks=ask_terms(settings, engine, archive),
                pace=Pace(
                    concurrent_visits=settings.concurrent_visits,
                    keep=Keep(
                        settings.retention_days,
                        settings.cell_retention_days,
                        settings.symbol_retention_days,
                    ),
                ),
            )
        )
    finally:
        engine.dispose()
    typer.echo("The collector has ended.", err=True)
