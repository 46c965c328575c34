"""One process of a simulated fleet: `python -m simulation.shard`, started by `services.deployment.fleet_processes`."""

import argparse
import asyncio
import gc
import os
import resource
import signal
from pathlib import Path

from simulation.binaries import SymbolFolder
from simulation.fleet import Fleet
from simulation.gateways import Simulation, serve
from simulation.outcomes import NEVER, Failures
from simulation.socket_paths import ready_mark, socket_of


def main(arguments: list[str] | None = None) -> None:
    """Serve every P-th machine until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--strata", type=int, required=True)
    parser.add_argument("--shard", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--sockets", type=Path, required=True)
    parser.add_argument("--symbols", type=Path, required=True)
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--no-failures", action="store_true")
    options = parser.parse_args(arguments)
    os.umask(0o077)
    raise_descriptor_limit()
    fleet = Fleet(options.machines, seed=options.seed, strata=options.strata)
    simulation = Simulation(
        fleet,
        SymbolFolder(options.symbols),
        NEVER if options.no_failures else Failures(),
        real_time=options.real_time,
    )
    machines = range(options.shard, options.machines, options.shards)
    mark = ready_mark(options.sockets, options.shard)
    mark.unlink(missing_ok=True)

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        addresses = [socket_of(options.sockets, machine) for machine in machines]
        gc.freeze()
        await serve(simulation, machines, addresses, stop, mark.touch)

    try:
        asyncio.run(run())
    finally:
        mark.unlink(missing_ok=True)


def raise_descriptor_limit() -> None:
    """Allow as many open files as the system permits: every machine is a socket."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
