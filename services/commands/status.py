"""`fleetprof status`: coverage and failures of the fleet."""

from typing import Annotated

import typer

from services.configuration.settings import read_settings


def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's JSON.")] = False,
) -> None:
    """Print the coverage of the fleet: campaigns, visits and failures of the last day, and waiting captures.

    The route /api/v1/status returns the same data. Uses FLEETPROF_DATABASE_URL, or the `fleetprof up` that runs here.
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.views import terminal  # noqa: PLC0415
    from storage.database import open_engine, snapshot  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.shapes.status import read_status  # noqa: PLC0415

    settings = read_settings()
    engine = open_engine(settings.needed_database_url(), application="status", pool_size=1)
    try:
        with snapshot(engine) as connection:
            answer = read_status(connection, settings.price_per_core_hour)
    finally:
        engine.dispose()
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
        return
    console = Console(highlight=False)
    for line in terminal.fleet_lines(answer):
        console.print(line, soft_wrap=True)
