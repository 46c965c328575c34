"""`fleetprof captures`: raw captures that are not ingested, and retrying them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Raw captures.\n\nA capture that cannot be ingested is quarantined with the reason: it is damaged, it "
        "crashed every worker that tried it, or a newer version of fleetprof made it. Captures of a newer version are "
        "retried automatically after the upgrade of collector and workers."
    ),
)


@app.command("list")
def list_(
    quarantined: Annotated[bool, typer.Option("--quarantined", help="Only quarantined captures.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number, newest first.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """List captures that are not ingested: waiting and quarantined ones, with the reason."""
    from storage import quarantine as store  # noqa: PLC0415 - a command imports what it runs

    with _store() as connection:
        found = store.list_(connection, limit=limit, waiting=not quarantined)
    if as_json:
        import json  # noqa: PLC0415

        typer.echo(json.dumps([asdict(one) for one in found], default=str, indent=2))
        return
    if not found:
        typer.echo("No capture is quarantined." if quarantined else "Every capture is ingested.")
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("visit", "machine", "drawn at, UTC", "state", "attempts", "reason"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "visit")
    for one in found:
        table.add_row(
            str(one.visit_id),
            one.machine,
            f"{one.drawn_at:%Y-%m-%d %H:%M:%S}",
            "quarantined" if one.is_quarantined else "waiting",
            str(one.attempts),
            one.why if one.archived else f"{one.why} (no longer in the archive)",
        )
    Console(highlight=False).print(table)


@app.command()
def retry(
    visits: Annotated[
        list[UUID] | None, typer.Argument(metavar="VISIT", help="Visit ids, as in `captures list`.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All quarantined captures.")] = False,
) -> None:
    """Ingest quarantined captures again; the collector sends them to a worker.

    The exit code is 1 if a given capture was not quarantined, or is not in the archive.
    """
    from storage import quarantine as store  # noqa: PLC0415

    if bool(visits) == all_:
        raise typer.BadParameter("Give either visit ids or --all.")
    with _store() as connection:
        again = store.retry(connection, None if all_ else visits)
    typer.echo(f"Retrying {again} {'capture' if again == 1 else 'captures'}.")
    if visits and again < len(set(visits)):
        typer.secho(
            f"fleetprof: {len(set(visits)) - again} of the given captures were not quarantined, or are not in the archive.",
            err=True, fg="red",
        )  # fmt: skip
        raise typer.Exit(1)


@contextmanager
def _store() -> "Iterator[Connection]":
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="captures", pool_size=1)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
