"""`fleetprof up`: everything on this machine, without preparation."""

from typing import Annotated

import typer

from services.command_line.durations import Duration
from services.configuration.settings import read_settings


def up(  # noqa: PLR0917 - the command line is its signature
    for_: Annotated[
        float | None,
        typer.Option(
            "--for",
            parser=Duration,
            metavar="DURATION",
            help="Stop after this time, e.g. 60s or 5m, and print the table. Default: run until Ctrl-C.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Port of the web UI on 127.0.0.1. Default: 7070, or a free port if that is in use.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=999,
            metavar="RATE",
            help="Samples per second and CPU; stored for the next start. Initially: 99.",
        ),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            min=8,
            max=20_000,
            metavar="MACHINES",
            help=(
                "Visit a simulated fleet of this size instead of this machine, with its own data (in "
                "STATE_DIR/simulated/MACHINES)."
            ),
        ),
    ] = None,
    past_days: Annotated[
        int,
        typer.Option(
            min=0,
            max=30,
            metavar="DAYS",
            help="Days of past data of a new simulated fleet; each takes about half a minute.",
        ),
    ] = 0,
    rows: Annotated[
        int, typer.Option(min=1, max=1000, metavar="ROWS", help="Functions in the printed table.")
    ] = 20,
    state_dir: Annotated[
        str | None, typer.Option(help="Folder of data, sockets and logs. Default: FLEETPROF_STATE_DIR.")
    ] = None,
) -> None:
    """Profile this machine: start all processes here, print the top functions and a URL.

    Starts its own PostgreSQL and Valkey (unless FLEETPROF_DATABASE_URL and FLEETPROF_REDIS_URL are set), a gateway, a
    collector, a symbolizer and the API with the web UI. Ctrl-C stops all of them. The data is kept for the next start.

    As root it profiles the whole machine including the kernel. As another user it profiles only that user's processes.

    With --simulate it profiles a simulated fleet instead, whose true values are known. Use it to try fleetprof with thousands
    of machines (docs/simulate.md).
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.deployment.database_setup import Sampling  # noqa: PLC0415
    from services.deployment.simulated_fleet import simulated_deployment  # noqa: PLC0415
    from services.deployment.up_session import run  # noqa: PLC0415

    if past_days and simulate is None:
        raise typer.BadParameter("--past-days applies to a simulated fleet: add --simulate MACHINES.")
    settings = read_settings(api_port=port, state_dir=state_dir)
    # Other commands find the run of an explicit state directory, or of a simulated fleet, only by an option.
    usual = None if state_dir else settings.state_dir
    sampling, fleet = Sampling(rate_hz=rate), None
    if simulate is not None:
        settings, sampling, fleet = simulated_deployment(
            settings, simulate, rate_hz=rate, past_days=past_days
        )
    console = Console(highlight=False)
    run(settings, sampling, seconds=for_, rows=rows, console=console, fleet=fleet, usual=usual)
