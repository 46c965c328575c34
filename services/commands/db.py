"""`fleetprof db`: the database's tables and partitions."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from services.configuration.settings import Settings, read_settings

app = typer.Typer(no_args_is_help=True, help="The database: tables, partitions, retention.")


@app.command()
def upgrade() -> None:
    """Upgrade the tables to this version, all or nothing.

    Stop every collector, worker and API first, and dump the database: only the dump can undo the upgrade
    (docs/deploy.md, "Versions"). If the tables already have this version, the command changes nothing, and other processes
    may run.
    """
    from storage.migrate import upgrade as bring_up  # noqa: PLC0415 - a command imports what it runs

    applied = bring_up(read_settings().needed_database_url())
    typer.echo("\n".join(f"applied {revision}" for revision in applied) or "The database is up to date.")
    partition()


@app.command()
def partition() -> None:
    """Create the partitions of today and the next days; the collector does this automatically."""
    from collector.sweep import create_partitions  # noqa: PLC0415
    from storage import partitions  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="db")
    create_partitions(engine, datetime.now(UTC).date())
    with engine.connect() as connection:
        days = partitions.existing(connection)
    engine.dispose()
    typer.echo(f"Partitions exist from {min(days)} to {max(days)}.")


@app.command()
def rollup() -> None:
    """Add ingested visits to rollups, and build buckets of closed days; the collector does this every minute.

    The command may be interrupted, and may run beside all other processes.
    """
    from storage.database import open_engine  # noqa: PLC0415
    from storage.rollup.apply_queue import RollupWriter  # noqa: PLC0415
    from storage.rollup.compact import compact  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="db")
    writer = RollupWriter(engine)
    visits = facts = expired = 0
    while (rolled_up := writer.rollup()).entries:
        visits += rolled_up.entries - rolled_up.expired
        facts += rolled_up.facts
        expired += rolled_up.expired
    built = compact(engine, datetime.now(UTC)).buckets
    engine.dispose()
    typer.echo(f"Added {visits} visits with {facts:,} facts to rollups.")
    if expired:
        typer.echo(f"Skipped {expired} visits of dropped days.")
    if built:
        typer.echo(f"Built {len(built)} buckets of closed days.")


@app.command()
def rebuild(
    day: Annotated[datetime, typer.Argument(formats=["%Y-%m-%d"], help="UTC day, e.g. 2026-11-21.")],
    application: str = typer.Option(
        "", help="Only the rollups of this application; those of whole events are unchanged."
    ),
) -> None:
    """Rebuild the rollups of a day from its profiles, if they may be wrong.

    Until the new rollups are complete, new visits of that day wait, and queries use the old rollups.
    """
    from storage.database import open_engine  # noqa: PLC0415
    from storage.rollup.rebuild import application_id  # noqa: PLC0415
    from storage.rollup.rebuild import rebuild as make_again  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="db")
    done = make_again(engine, day.date(), application_id(engine, application) if application else None)
    engine.dispose()
    typer.echo(f"Rebuilt the rollups of {day:%Y-%m-%d}: {done.visits} visits with {done.facts:,} facts.")


@app.command()
def retain(
    days: int = typer.Option(
        0, min=0, help="Days to keep profiles and raw captures; 0: FLEETPROF_RETENTION_DAYS."
    ),
    cell_days: int = typer.Option(
        0, min=0, help="Days to keep rollups and visits; 0: FLEETPROF_CELL_RETENTION_DAYS."
    ),
) -> None:
    """Delete data older than its retention; the collector does this every hour.

    A day's profiles are deleted only after they were added to rollups. The command may be interrupted, and may run beside all
    other processes.
    """
    from storage.archive import Archive  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.retention.retain import Keep  # noqa: PLC0415
    from storage.retention.retain import retain as drop_old  # noqa: PLC0415

    settings = read_settings()
    keep = Keep(
        days or settings.retention_days,
        cell_days or settings.cell_retention_days,
        settings.symbol_retention_days,
        settings.source_copies_bytes,
    )
    engine = open_engine(settings.needed_database_url(), application="db")
    done = drop_old(engine, Archive(settings.archive), datetime.now(UTC).date(), keep)
    engine.dispose()
    for old in done.dropped:
        lost = f"; {old.waiting} visits were not in rollups" if old.waiting else ""
        typer.echo(f"{old.day}: profiles dropped{lost}.")
    if done.kept_back:
        typer.echo(
            f"{done.kept_back.day}: profiles of this and later days are kept: "
            f"{done.kept_back.waiting} visits are not in rollups yet; the collector adds them."
        )
    if done.busy:
        typer.echo("Queries are using the profiles to be deleted; try again later.")
    if done.raw.captures:
        never = f", {done.raw.never_ingested} of them never ingested" if done.raw.never_ingested else ""
        typer.echo(f"{done.raw.captures} raw captures deleted{never}.")
    if done.cells or done.visits:
        typer.echo(
            f"{done.cells} rows of rollups and {done.visits} visits before {done.cells_horizon} deleted."
        )
    if done.symbols.debug_files or done.symbols.caches or done.symbols.blobs:
        typer.echo(
            f"{done.symbols.debug_files} debug files, {done.symbols.caches} symbol caches and "
            f"{done.symbols.blobs} blobs of symbols deleted."
        )
    typer.echo(
        f"Kept: profiles from {done.facts_horizon} on, rollups and visits from {done.cells_horizon} on."
    )


@app.command()
def sweep() -> None:
    """Delete stacks, functions and labels that are unused; the collector does this once a week.

    The command reads every profile and rollup. It may be interrupted, and may run beside all other processes.
    """
    from rich.console import Console  # noqa: PLC0415

    from storage.database import open_engine  # noqa: PLC0415
    from storage.dictionary_sweep.sweep import sweep as free  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="db")
    with Console(stderr=True).status("Reading all references …"):
        done = free(engine)
    engine.dispose()
    if done is None:
        typer.echo("Another sweep is running.")
        return
    rate = done.facts / done.scan_s if done.scan_s else 0.0
    typer.echo(f"Read {done.facts:,} facts in {done.scan_s:.1f} s ({rate:,.0f} a second).")
    for name, rows in done.freed.items():
        typer.echo(f"{name}: {rows:,} rows deleted.")
    if done.corrupt:
        typer.echo(
            f"{done.corrupt:,} stored values cannot be decoded; their references were not counted.", err=True
        )


@app.command()
def dump(
    file: Annotated[Path, typer.Argument(help="New file; only this user can read it.")],
) -> None:
    """Write the database to a file in pg_dump's custom format, without stopping any process.

    Copy the archive afterwards, never before (docs/operations.md). Uses FLEETPROF_DATABASE_URL, the `fleetprof up`
    that runs here, or the data of a stopped `fleetprof up`.
    """
    from services.deployment.backup import dump as write  # noqa: PLC0415
    from storage.blob_bucket import without_secrets  # noqa: PLC0415

    settings = read_settings()
    with _database(settings) as url:
        size = write(url, file)
    typer.echo(f"{file}: {size:,} bytes. Copy the archive now: {without_secrets(settings.archive)}")


@app.command()
def restore(
    file: Annotated[
        Path, typer.Argument(help="File written by `fleetprof db dump` or pg_dump --format=custom.")
    ],
) -> None:
    """Restore a dump into an empty database, all or nothing, and upgrade its tables to this version.

    Restore the archive first, and start no process before both are restored. Uses FLEETPROF_DATABASE_URL, or
    creates the database that `fleetprof up` will use.
    """
    from services.deployment.backup import restore as fill  # noqa: PLC0415
    from services.deployment.running_deployment import find_running_deployment  # noqa: PLC0415
    from services.errors import BackupFailed  # noqa: PLC0415

    settings = read_settings()
    if settings.database_url is None and find_running_deployment(settings.state_dir):
        raise BackupFailed("`fleetprof up` runs here and uses this database: stop it first.")
    with _database(settings) as url:
        applied = fill(url, file)
    typer.echo("\n".join(["The dump is restored.", *(f"applied {revision}" for revision in applied)]))


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    """URL of the database; starts the server of an `up` that does not run, for the duration of the block."""
    from services.deployment.running_deployment import find_running_deployment, lock_state_dir  # noqa: PLC0415
    from services.embedded.postgres import EmbeddedPostgres  # noqa: PLC0415

    if settings.database_url or find_running_deployment(settings.state_dir):
        yield settings.needed_database_url()
        return
    with lock_state_dir(settings.state_dir):
        server = EmbeddedPostgres(settings.state_dir / "postgres")
        ran = server.pid is not None
        server.start()
        try:
            yield server.url()
        finally:
            if not ran:
                server.stop()
