"""`fleetprof simulate`: a fleet of simulated gateways whose true values are known."""

from pathlib import Path
from typing import Annotated

import typer

from services.command_line.durations import Duration
from services.configuration.settings import read_settings


def simulate(  # noqa: PLR0917 - the command line is its signature
    machines: Annotated[int, typer.Option(min=1, max=20_000, metavar="N", help="Number of machines.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the model: the same seed gives the same fleet.")] = 7,
    strata: Annotated[
        int,
        typer.Option(
            min=1, max=16, metavar="N", help="Number of strata (datacenter × CPU model), of unequal sizes."
        ),
    ] = 8,
    processes: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Number of processes that serve the machines.")
    ] = 2,
    listen_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of the machines' Unix sockets. Default: STATE_DIR/simulated/run/fleet."),
    ] = None,
    symbol_dir: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Output folder of symbols, for the worker's FLEETPROF_SYMBOL_DIRS. Default: "
                "STATE_DIR/simulated/binaries."
            )
        ),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            help="Write the machines to this file as CSV, for `fleetprof machines import`; - is standard output."
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Write the true values of the serving time to this file as JSON; - is standard output."
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Let sampling windows take their full time.")
    ] = False,
    no_failures: Annotated[bool, typer.Option("--no-failures", help="Simulate no failed visits.")] = False,
    for_: Annotated[
        float | None,
        typer.Option(
            "--for",
            parser=Duration,
            metavar="DURATION",
            help="Stop after this time. Default: run until Ctrl-C.",
        ),
    ] = None,
) -> None:
    """Serve a simulated fleet: thousands of machines with the protocol of gateways.

    Load, applications, releases, failures and stacks come from a model, so fleetprof's estimates can be compared with the
    true values. This machine is not sampled. To start such a fleet and see its results: `fleetprof up --simulate 1000`.
    """
    from services.deployment.simulation_session import run  # noqa: PLC0415 - a command imports what it runs
    from simulation.fleet_plan import FleetPlan  # noqa: PLC0415

    home = read_settings().state_dir / "simulated"
    plan = FleetPlan(
        machines=machines,
        sockets=(listen_dir or home / "run" / "fleet").absolute(),
        symbols=(symbol_dir or home / "binaries").absolute(),
        seed=seed,
        strata=strata,
        processes=processes,
        real_time=real_time,
        failures=not no_failures,
    )
    run(plan, seconds=for_, inventory_file=inventory, truth_file=truth, logs=home / "log")
