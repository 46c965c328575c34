"""A simulated fleet as processes: started, waited for, kept running, stopped."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from services.errors import CannotStart
from services.part_settings import reaches_gateways
from services.simulate.places import ready_mark, socket_of
from services.supervisor import Part

if TYPE_CHECKING:
    from services.simulate.fleet import Fleet
    from storage.inventory import NewMachine

_LONGEST_PATH = 107
"""Bytes of a socket's path, see `collector.channel`."""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """How a fleet is simulated."""

    machines: int
    sockets: Path
    """Folder of one Unix socket a machine."""
    symbols: Path
    """Folder that gets the symbol files of what runs there."""
    seed: int = 7
    strata: int = 8
    processes: int = 2
    real_time: bool = False
    """Windows take as long as they say."""
    failures: bool = True
    """Some visits fail, busy machines' more often."""
    past_days: int = 0
    """Whole days before the first one that are made up, when the store is new."""

    def model(self) -> "Fleet":
        """The model behind it. Raises CannotStart for numbers that make no fleet."""
        from services.simulate.fleet import Fleet  # noqa: PLC0415 - NumPy; `up` needs none of it without a fleet

        try:
            return Fleet(self.machines, seed=self.seed, strata=self.strata)
        except ValueError as error:
            raise CannotStart(str(error)) from error


def inventory(plan: FleetPlan) -> "list[NewMachine]":
    """The machines as an operator would import them."""
    from services.simulate.platforms import DATACENTERS  # noqa: PLC0415 - as in `FleetPlan.model`
    from storage.inventory import NewMachine  # noqa: PLC0415

    fleet = plan.model()
    return [
        NewMachine(
            name=fleet.name(machine),
            address=socket_of(plan.sockets, machine),
            datacenter=DATACENTERS[fleet.datacenter[machine]],
            cluster="simulated",
        )
        for machine in range(plan.machines)
    ]


def parts(plan: FleetPlan, logs: Path) -> list[Part]:
    """The processes to run. Raises CannotStart for a folder whose path is too long for sockets."""
    if len(socket_of(plan.sockets, plan.machines).removeprefix("unix:").encode()) > _LONGEST_PATH:
        raise CannotStart(
            f"The path {plan.sockets} is too long for sockets: use a shorter one, such as /run/sim."
        )
    plan.sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    plan.symbols.mkdir(mode=0o755, parents=True, exist_ok=True)
    shards = min(plan.processes, plan.machines)
    return [_part(plan, shard, shards, logs) for shard in range(shards)]


def _part(plan: FleetPlan, shard: int, shards: int, logs: Path) -> Part:
    mark = ready_mark(plan.sockets, shard)
    mark.unlink(missing_ok=True)
    ready: Callable[[], bool] = mark.exists
    return Part(
        name=f"simulated fleet {shard + 1}/{shards}",
        command=[
            sys.executable, "-P", "-m", "services.simulate.shard",
            "--machines", str(plan.machines), "--seed", str(plan.seed), "--strata", str(plan.strata),
            "--shard", str(shard), "--shards", str(shards),
            "--sockets", str(plan.sockets), "--symbols", str(plan.symbols),
            *(["--real-time"] if plan.real_time else []),
            *([] if plan.failures else ["--no-failures"]),
        ],
        log=logs / f"simulate-{shard}.log",
        ready=ready,
        inherits=reaches_gateways,
        ready_within_s=60.0,
    )  # fmt: skip
