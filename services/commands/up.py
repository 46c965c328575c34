"""`fleetprof up`: everything on this machine, with nothing to prepare."""

from typing import Annotated

import typer

from services.durations import Duration
from services.settings import read_settings


def up(  # noqa: PLR0917 - the command line is its signature
    for_: Annotated[
        float | None,
        typer.Option(
            "--for",
            parser=Duration,
            metavar="DURATION",
            help="Stop after this long, e.g. 60s or 5m, and print the table. Without it: until Ctrl-C.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Port of the web UI on 127.0.0.1. Default: 7070, or a free one when that is taken.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=999,
            metavar="RATE",
            help="Samples a second and CPU; kept for the next time. At first: 99.",
        ),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(
            min=8,
            max=20_000,
            metavar="MACHINES",
            help="Visit a made-up fleet of so many machines instead of this one, with data of its own "
            "(in STATE_DIR/simulated/MACHINES).",
        ),
    ] = None,
    past_days: Annotated[
        int,
        typer.Option(
            min=0,
            max=30,
            metavar="DAYS",
            help="Days before today that the made-up fleet has a past of, when it is new; a day takes about half a minute.",
        ),
    ] = 0,
    rows: Annotated[
        int, typer.Option(min=1, max=1000, metavar="ROWS", help="Functions in the printed table.")
    ] = 20,
    state_dir: Annotated[
        str | None, typer.Option(help="Where data, sockets and logs are kept. Default: FLEETPROF_STATE_DIR.")
    ] = None,
) -> None:
    """Profile this machine: start everything here, show the hottest functions, and print a URL.

    Brings its own PostgreSQL and Valkey (unless FLEETPROF_DATABASE_URL and FLEETPROF_REDIS_URL name
    others), a gateway, a collector, a symbolizer and the API with the web UI. Ctrl-C stops all of
    it; the data is kept for the next time.

    As root the whole machine is profiled, the kernel included; as another user, that user's own
    processes.

    With --simulate nothing of this machine is profiled: a fleet with known truth is shown, to see what fleetprof
    does with thousands of machines (docs/simulate.md).
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.preparation import Sampling  # noqa: PLC0415
    from services.simulate.home import simulated  # noqa: PLC0415
    from services.up import run  # noqa: PLC0415

    if past_days and simulate is None:
        raise typer.BadParameter("only a made-up fleet has a made-up past; add --simulate MACHINES.")
    settings = read_settings(api_port=port, state_dir=state_dir)
    # A command typed here finds the run of a state directory that was given, or of a made-up fleet, only if it is told.
    usual = None if state_dir else settings.state_dir
    sampling, fleet = Sampling(rate_hz=rate), None
    if simulate is not None:
        settings, sampling, fleet = simulated(settings, simulate, rate_hz=rate, past_days=past_days)
    console = Console(highlight=False)
    run(settings, sampling, seconds=for_, rows=rows, console=console, fleet=fleet, usual=usual)
