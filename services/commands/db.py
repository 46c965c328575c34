"""`fleetprof db`: the database's tables and partitions."""

from datetime import UTC, datetime, timedelta

import typer

from services.settings import read_settings

app = typer.Typer(no_args_is_help=True, help="The database: its tables, its partitions, what is kept.")


@app.command()
def upgrade() -> None:
    """Bring the tables to this version's shape. Safe to run at any time, and again."""
    from storage.migrate import upgrade as bring_up  # noqa: PLC0415 - a command imports what it runs

    applied = bring_up(read_settings().needed_database_url())
    typer.echo("\n".join(f"applied {revision}" for revision in applied) or "The database is up to date.")
    partition()


@app.command()
def partition() -> None:
    """Make the partitions of today and the next days; the collector does it by itself."""
    from collector.sweep import make_room  # noqa: PLC0415
    from storage import partitions  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="db")
    make_room(engine, datetime.now(UTC).date())
    with engine.connect() as connection:
        days = partitions.existing(connection)
    engine.dispose()
    typer.echo(f"Partitions exist from {min(days)} to {max(days)}.")


@app.command()
def retain(
    days: int = typer.Option(0, min=0, help="Keep this many days; 0: FLEETPROF_RETENTION_DAYS."),
) -> None:
    """Drop the partitions of days that are older than what is kept."""
    from storage import partitions  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    settings = read_settings()
    engine = open_engine(settings.needed_database_url(), application="db")
    before = datetime.now(UTC).date() - timedelta(days=days or settings.retention_days)
    with engine.begin() as connection:
        dropped = partitions.drop(connection, before)
    engine.dispose()
    typer.echo(
        f"Dropped {len(dropped)} days before {before}." if dropped else f"Nothing is older than {before}."
    )
