"""`fleetprof lake`: export, list and verify closed days as Parquet."""

from datetime import date, datetime
from typing import Annotated

import typer

from services.configuration.settings import read_settings
from services.errors import SettingsProblem

app = typer.Typer(no_args_is_help=True, help="Closed days as Parquet: the lake at FLEETPROF_LAKE_URL.")

_DAY = "%Y-%m-%d"
Since = Annotated[
    datetime | None, typer.Option("--from", formats=[_DAY], help="First UTC day. Default: the oldest.")
]
Until = Annotated[
    datetime | None, typer.Option("--to", formats=[_DAY], help="Last UTC day. Default: the newest.")
]


@app.command()
def export(
    since: Since = None,
    until: Until = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Also export days that are up to date, or that wait for captures to be ingested."
        ),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help=(
                "Also export days that have more data in the lake than in PostgreSQL, or that another database exported. "
                "Their data in the lake is lost."
            ),
        ),
    ] = False,
) -> None:
    """Export closed days that are missing or outdated in the lake; the collector does this every hour.

    A day waits at most five days for captures that are not ingested. A day is not exported if it has more data in the lake
    than in PostgreSQL, for example after an older dump was restored. An exported day becomes visible when its files were read
    back and add up to the totals in PostgreSQL. The command may be interrupted, and may run beside all other processes:
    incomplete files are never read.
    """
    from datetime import UTC  # noqa: PLC0415 - a command imports what it runs

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    from services.configuration.lake_settings import limits_of, needed_lake  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.errors import CorruptChunk, PartitionMissing  # noqa: PLC0415
    from storage.segments import ingested_days  # noqa: PLC0415
    from storage.segments.due_days import look  # noqa: PLC0415
    from storage.segments.errors import LakeError  # noqa: PLC0415
    from storage.segments.export import export_day  # noqa: PLC0415

    def is_wanted(day: date) -> bool:
        return (not since or day >= since.date()) and (not until or day <= until.date())

    settings = read_settings()
    lake, limits = needed_lake(settings), limits_of(settings)
    engine = open_engine(settings.needed_database_url(), application="lake")
    now = datetime.now(UTC)
    with engine.connect() as connection:
        waiting = look(connection, lake, now, settings.retention_days)
        unchanged_days = {} if replace else {day: why for day, why in waiting.kept.items() if is_wanted(day)}
        chosen = ingested_days.closed(connection, now) if again else sorted({*waiting.due, *waiting.kept})
        days = [day for day in chosen if is_wanted(day) and day not in unchanged_days]
        later = {} if again else {day: why for day, why in waiting.not_ingested.items() if is_wanted(day)}
        facts = {day: sum(total.facts for total in ingested_days.totals(connection, day)) for day in days}
    failed = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=not days) as progress:
        bar = progress.add_task("facts", total=sum(facts.values()))
        for day in days:
            progress.update(bar, description=str(day))
            try:
                made = export_day(
                    engine,
                    lake,
                    day,
                    limits=limits,
                    on_facts=lambda count: progress.advance(bar, count),
                    replace=replace,
                )
            except (LakeError, CorruptChunk, PartitionMissing) as error:
                failed = True
                progress.console.print(str(error))
                continue
            if made is None:
                progress.console.print(f"{day}: another process is exporting it.")
            else:
                progress.console.print(f"{day}: {made.facts:,} facts, {made.bytes / 1e6:,.1f} MB.")
    engine.dispose()
    for why in later.values():
        typer.echo(why)
    for why in unchanged_days.values():
        typer.echo(f"{why} To replace it, add --replace.", err=True)
    if failed or unchanged_days:
        raise typer.Exit(1)
    if not days and not later:
        typer.echo("Every closed day is in the lake.")


@app.command()
def status() -> None:
    """List the days of the lake, and the closed days that are missing or outdated."""
    from datetime import UTC  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from services.configuration.lake_settings import needed_lake  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.segments import manifest  # noqa: PLC0415
    from storage.segments.due_days import look  # noqa: PLC0415
    from storage.segments.errors import LakeDamaged  # noqa: PLC0415

    settings = read_settings()
    lake = needed_lake(settings)
    table = Table("day", "visits", "facts", "MB", "exported", box=None, pad_edge=False)
    for column in table.columns[1:4]:
        column.justify = "right"
    for day in manifest.days(lake):
        try:
            known = manifest.read(lake, day)
        except LakeDamaged as error:
            table.add_row(str(day), "", "", "", str(error))
            continue
        if known is not None:
            table.add_row(
                str(day),
                f"{known.ingested.visits:,}",
                f"{known.facts:,}",
                f"{known.bytes / 1e6:,.1f}",
                known.stamp[:15],
            )
    Console(highlight=False).print(table)
    try:
        url = settings.needed_database_url()
    except SettingsProblem:
        typer.echo("Set FLEETPROF_DATABASE_URL to list missing days.", err=True)
        return
    engine = open_engine(url, application="lake")
    with engine.connect() as connection:
        waiting = look(connection, lake, datetime.now(UTC), settings.retention_days)
    engine.dispose()
    if waiting.due:
        typer.echo(f"Not exported yet: {', '.join(map(str, waiting.due))}.")
    for why in waiting.not_ingested.values():
        typer.echo(why)
    for why in waiting.kept.values():
        typer.echo(f"{why} To replace it: fleetprof lake export --replace")


@app.command()
def verify(since: Since = None, until: Until = None) -> None:
    """Read whole days of the lake and compare them with their manifests.

    The exit code is 1 if a day differs. Needs no database.
    """
    from services.configuration.lake_settings import limits_of, needed_lake  # noqa: PLC0415
    from storage.segments import manifest  # noqa: PLC0415
    from storage.segments.errors import LakeError  # noqa: PLC0415
    from storage.segments.verify import faults  # noqa: PLC0415

    settings = read_settings()
    lake, limits = needed_lake(settings), limits_of(settings)
    wrong = 0
    for day in manifest.days(lake):
        if (since and day < since.date()) or (until and day > until.date()):
            continue
        try:
            known = manifest.read(lake, day)
            found = [] if known is None else faults(lake, known, limits)
        except LakeError as error:
            found = [str(error)]
        wrong += bool(found)
        typer.echo(f"{day}: {' '.join(found) or 'complete.'}")
    if wrong:
        typer.echo(
            "To export a day again while PostgreSQL has its facts: fleetprof lake export --again", err=True
        )
        raise typer.Exit(1)


@app.command()
def files(
    table: Annotated[str, typer.Argument(help="Table of the lake, e.g. samples.")] = "samples",
    since: Since = None,
    until: Until = None,
) -> None:
    """Print the paths of a table's current files, one per line, for Spark and other readers."""
    from services.configuration.lake_settings import needed_lake  # noqa: PLC0415
    from storage.segments import manifest  # noqa: PLC0415
    from storage.segments.tables import TABLES  # noqa: PLC0415

    if table not in TABLES:
        raise typer.BadParameter(f"Unknown table {table!r}. Tables: {', '.join(TABLES)}.", param_hint="TABLE")
    lake = needed_lake(read_settings())
    for day in manifest.days(lake):
        if (since and day < since.date()) or (until and day > until.date()):
            continue
        known = manifest.read(lake, day)
        for key in known.keys(table) if known else ():
            typer.echo(lake.path(key))
