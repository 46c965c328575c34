"""`fleetprof simulate`: a fleet of gateways that exists only here, with known truth."""

from pathlib import Path
from typing import Annotated

import typer

from services.durations import Duration
from services.settings import read_settings


def simulate(  # noqa: PLR0917 - the command line is its signature
    machines: Annotated[
        int, typer.Option(min=1, max=20_000, metavar="N", help="Machines of the fleet.")
    ] = 1000,
    seed: Annotated[
        int, typer.Option(help="Everything follows from it: the same seed is the same fleet.")
    ] = 7,
    strata: Annotated[
        int, typer.Option(min=1, max=16, metavar="N", help="Datacenter × CPU model, of unequal sizes.")
    ] = 8,
    processes: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Processes that serve the machines.")
    ] = 2,
    listen_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of one Unix socket a machine. Default: STATE_DIR/simulated/run/fleet."),
    ] = None,
    symbol_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder that gets the symbols of what runs there, for FLEETPROF_SYMBOL_DIRS of the worker. "
            "Default: STATE_DIR/simulated/binaries."
        ),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            help="Write the machines here as CSV, for `fleetprof machines import`; - is standard output."
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Write what is true of the fleet here as JSON, for the time served; - is standard output."
        ),
    ] = None,
    real_time: Annotated[
        bool, typer.Option("--real-time", help="Let windows take as long as they say.")
    ] = False,
    no_failures: Annotated[bool, typer.Option("--no-failures", help="Let every visit be answered.")] = False,
    for_: Annotated[
        float | None,
        typer.Option(
            "--for",
            parser=Duration,
            metavar="DURATION",
            help="Stop after this long. Without it: until Ctrl-C.",
        ),
    ] = None,
) -> None:
    """Serve a made-up fleet: thousands of machines that answer a collector as gateways do.

    Load, applications, releases, failures and stacks come from a model of which the truth is known, so that what
    fleetprof says of the fleet can be compared with it. Nothing of this machine is sampled. To see such a fleet at
    once: `fleetprof up --simulate 1000`.
    """
    from services.simulate.command import run  # noqa: PLC0415 - a command imports what it runs
    from services.simulate.run import FleetPlan  # noqa: PLC0415

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
