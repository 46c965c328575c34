"""`fleetprof regressions`: the nightly comparison of each application's newest version with the one before."""

from datetime import datetime
from typing import Annotated

import typer

from services.configuration.settings import read_settings

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Regressions found every night.\n\nTwo hours after the end of each UTC day the collector compares the newest "
        "version of each application with the one before, or this week with last week. `/api/v1/regressions` has the "
        "results."
    ),
)

_DAY = "%Y-%m-%d"


@app.command()
def run(
    day: Annotated[
        datetime | None,
        typer.Option(formats=[_DAY], help="UTC day. Default: the last whole day."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Also compute a day that has results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Compute the regressions of a day now.

    It uses the seven days up to the end of that day. Several processes may run this: one of them computes the day. The
    command may be interrupted; the collector then computes the day after five minutes.

    Example: `fleetprof regressions run --day 2026-11-21`
    """
    from datetime import UTC, timedelta  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.configuration.lake_settings import older_days  # noqa: PLC0415
    from services.views import regressions as view  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.query.query_engine import QueryEngine  # noqa: PLC0415
    from storage.query.releases.night import run_night  # noqa: PLC0415
    from storage.snapshots.query_budget import Limits  # noqa: PLC0415

    settings = read_settings()
    chosen = day.date() if day else datetime.now(UTC).date() - timedelta(days=1)
    if chosen >= datetime.now(UTC).date():
        raise typer.BadParameter(f"{chosen} is not over yet; name an earlier day.", param_hint="--day")
    engine = open_engine(settings.needed_database_url(), application="regressions", pool_size=2)
    queries = QueryEngine(
        engine, limits=Limits(settings.query_seconds, settings.query_bytes), older=older_days(settings)
    )
    try:
        found = run_night(engine, queries, chosen, again=again)
    finally:
        queries.close()
        engine.dispose()
    if found is None:
        typer.secho(
            f"{chosen} has results already (--again computes them anew), or another process computes them.",
            err=True,
            fg="yellow",
        )
        raise typer.Exit(1)
    if as_json:
        typer.echo(view.document(chosen, found))
    else:
        Console(highlight=False).print(view.summary(chosen, found), soft_wrap=True)
