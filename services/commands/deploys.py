"""`fleetprof deploys`: marks of deploys, for /changes and the charts of the web UI."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.own_user import own_user
from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from services.deploys.deploy_service import DeployService

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Marks of deploys: when the roll-out of a version began.\n\nCharts show them beside the first sight of each "
        "version, which needs no mark."
    ),
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@app.command()
def add(
    application: Annotated[
        str, typer.Argument(metavar="APPLICATION", help="As the label `application` of profiles.")
    ],
    version: Annotated[str, typer.Argument(metavar="VERSION", help="As the label `version`.")],
    *,
    at: Annotated[
        str, typer.Option(metavar="TIME", help="Start of the deploy: RFC 3339, or relative such as now-2h.")
    ] = "now",
    text: Annotated[str, typer.Option(metavar="TEXT", help="Description.")] = "",
    link: Annotated[str, typer.Option(metavar="URL", help="http or https URL.")] = "",
    as_json: AsJson = False,
) -> None:
    """Mark a deploy.

    Example: `fleetprof deploys add checkout r10389 --link https://ci.example/builds/77`
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - a command imports what it runs

    with _service() as service:
        added = service.add(
            application, version, at=at, text=text, link=link, added_by=own_user(), now=datetime.now(UTC)
        )
    if as_json:
        _print_json(added)
    else:
        typer.echo(f"Marked deploy {added['deploy_id']}: {application} {version} at {added['at']}.")


@app.command("list")
def list_(
    application: Annotated[
        str, typer.Option(metavar="NAME", help="Only this application. Default: all.")
    ] = "",
    rows: Annotated[int, typer.Option(min=1, max=100_000, help="Marks to print.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List marks, the newest first."""
    from rich.console import Console  # noqa: PLC0415

    from services.views import deploys as view  # noqa: PLC0415

    with _service() as service:
        found = service.newest(rows, application)
    if as_json:
        _print_json(found)
    elif found["deploys"]:
        Console(highlight=False).print(view.listing(found["deploys"]))
    else:
        typer.echo("There are no marks. Add one: fleetprof deploys add APPLICATION VERSION")


@app.command()
def remove(
    deploy_id: Annotated[int, typer.Argument(metavar="ID", min=1, help="Id of the mark, as listed.")],
) -> None:
    """Delete a mark."""
    with _service() as service:
        service.remove(deploy_id)
    typer.echo(f"Deleted mark {deploy_id}.")


def _print_json(document: dict[str, object]) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(document, allow_nan=False))


@contextmanager
def _service() -> "Iterator[DeployService]":
    """The marks of this deployment's database."""
    from services.deploys.deploy_service import DeployService  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="deploys", pool_size=1)
    try:
        yield DeployService(engine)
    finally:
        engine.dispose()
