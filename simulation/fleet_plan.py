"""The plan of a simulated fleet: its size, its folders and what it does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simulation.socket_paths import socket_of

if TYPE_CHECKING:
    from simulation.fleet import Fleet
    from storage.inventory import NewMachine


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Parameters of a simulated fleet."""

    machines: int
    sockets: Path
    """Folder with one Unix socket per machine."""
    symbols: Path
    """Folder for the symbol files of the fleet's programs."""
    seed: int = 7
    strata: int = 8
    processes: int = 2
    real_time: bool = False
    """Let windows take their full time."""
    failures: bool = True
    """Some visits fail, those of busy machines more often."""
    past_days: int = 0
    """Number of whole days of simulated past before the first day of a new store."""

    def model(self) -> "Fleet":
        """The model of the plan. Raises ValueError for an impossible plan."""
        from simulation.fleet import Fleet  # noqa: PLC0415 - NumPy; `up` needs none of it without a fleet

        return Fleet(self.machines, seed=self.seed, strata=self.strata)


def inventory(plan: FleetPlan) -> "list[NewMachine]":
    """The machines as an operator would import them."""
    from simulation.platforms import DATACENTERS  # noqa: PLC0415 - as in `FleetPlan.model`
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
