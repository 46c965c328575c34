"""Prepare the database of a `fleetprof up`: tables, partitions, machines, the default campaign."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from simulation.fleet_plan import FleetPlan

if TYPE_CHECKING:
    from storage.campaigns import Definition

DEFAULT_RATE_HZ = 99.0
"""99 Hz, to avoid lockstep with work that repeats at 100 Hz."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling of this machine while `up` runs."""

    rate_hz: float | None = None
    """Samples per second and CPU. None: the rate of the campaign, DEFAULT_RATE_HZ for a new one."""
    round_s: float = 10.0
    window_s: float = 8.0
    """Seconds sampled in each round."""
    visits_per_round: float = 1.0


@dataclass(frozen=True, slots=True)
class DatabaseSetup:
    """Tables, partitions, machines and the campaign of one database. Existing ones are not changed."""

    database_url: str
    machine: str
    gateway: str
    sampling: Sampling
    fleet: FleetPlan | None = None
    """Its machines replace `machine`."""

    def run_in_child(self) -> str:
        """Prepare in a child process; returns a sentence for the user or an empty string.

        SQLAlchemy, Alembic and the table definitions take 60 MB, which this process would hold as long as it runs.
        Raises `storage.errors`.
        """
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as child:
            return child.submit(self.run).result()

    def run(self) -> str:
        """Prepare in this process; returns a sentence for the user or an empty string. Raises `storage.errors`."""
        from collector.sweep import create_partitions  # noqa: PLC0415 - see `run_in_child`
        from simulation.store_seeding import seed  # noqa: PLC0415
        from storage import campaigns, inventory, migrate  # noqa: PLC0415
        from storage.database import open_engine  # noqa: PLC0415
        from storage.errors import UnknownCampaign  # noqa: PLC0415

        migrate.upgrade(self.database_url)
        engine = open_engine(self.database_url, application="up", pool_size=1)
        try:
            create_partitions(engine, datetime.now(UTC).date())
            with engine.begin() as connection:
                if self.fleet is None:
                    inventory.add(connection, inventory.NewMachine(self.machine, self.gateway), replace=True)
                else:
                    seed(connection, self.fleet)
                try:
                    campaign = campaigns.get(connection, campaigns.FLEET)
                except UnknownCampaign:
                    campaign = campaigns.create_or_update(connection, self._definition(None))
                else:
                    if self.sampling.rate_hz is not None:  # keep the operator's other rounds and events
                        definition = self._definition(campaign.definition)
                        campaign = campaigns.create_or_update(connection, definition)
                if campaign.state is campaigns.State.STOPPED:
                    why = "restarted by fleetprof up"
                    campaigns.set_state(connection, campaigns.FLEET, campaigns.State.RUNNING, why)
                elif campaign.state is campaigns.State.PAUSED:
                    return (
                        f"  Campaign {campaigns.FLEET} is paused. To resume it: "
                        f"fleetprof campaigns resume {campaigns.FLEET}"
                    )
        finally:
            engine.dispose()
        return ""

    def _definition(self, existing: "Definition | None") -> "Definition":
        """Definition of a new campaign, or the existing one with the rate of this run."""
        from storage.campaigns import FLEET, Definition, EventPlan  # noqa: PLC0415 - see `run_in_child`

        sampling = self.sampling
        cpu = EventPlan(
            event="cpu",
            duration_ms=round(sampling.window_s * 1000),
            rate_hz=sampling.rate_hz or DEFAULT_RATE_HZ,
        )
        if existing is not None:
            return replace(existing, events=(cpu,))
        return Definition(FLEET, sampling.round_s, visits_per_round=sampling.visits_per_round, events=(cpu,))
