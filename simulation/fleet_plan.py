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
        """The model behind it. Raises ValueError for numbers that make no fleet."""
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
