"""`fleetprof query`: the table of the web UI, in the terminal."""

from typing import Annotated

import typer

from services.settings import read_settings


def query(  # noqa: PLR0917 - the command line is its signature
    select: Annotated[
        str, typer.Argument(help='Matchers, e.g. \'{application="nginx",platform=~"AMD.*"}\'.')
    ] = "{}",
    event: Annotated[str, typer.Option(help="What was sampled.")] = "cpu",
    since: Annotated[str, typer.Option("--from", help="Start: RFC 3339, or now-15m, now-1d …")] = "now-1h",
    until: Annotated[str, typer.Option("--to", help="End, likewise.")] = "now",
    campaign: Annotated[str, typer.Option(help="Whose visits.")] = "fleet",
    rows: Annotated[int, typer.Option(min=1, max=10_000, help="Functions to print.")] = 30,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer as JSON.")] = False,
) -> None:
    """Print the hottest functions of a selection.

    Uses FLEETPROF_DATABASE_URL, or the `fleetprof up` that runs here.
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services import terminal  # noqa: PLC0415
    from services.hottest import hottest_functions  # noqa: PLC0415

    answer = hottest_functions(
        read_settings().needed_database_url(),
        event=event,
        since=since,
        until=until,
        select=select,
        campaign=campaign,
        rows=rows,
    )
    if as_json:
        typer.echo(json.dumps(answer))
        return
    console = Console(highlight=False)
    console.print(terminal.totals_line(answer), soft_wrap=True)
    console.print(terminal.hottest(answer, rows=rows))
