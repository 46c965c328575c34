"""Prepare a store for a simulated fleet: exactly its machines, described, and its past."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine

from simulation.fleet_plan import FleetPlan, inventory
from simulation.machine_facts import describe
from simulation.seeded_random import generator
from storage import campaigns
from storage import inventory as stored
from storage.archive import Archive

_ROUND_S, _VISITS = 3600.0, 30.0
"""Rounds of past days: 720 visits a day, as in a real campaign of a fleet of this size."""


def seed(connection: Connection, plan: FleetPlan) -> None:
    """Make the inventory that of the plan: add and describe its machines, remove all others. Past data is kept."""
    fleet = plan.model()
    machines = inventory(plan)
    _remove_others(connection, [machine.name for machine in machines])
    for number, machine in enumerate(machines):
        stored.describe(connection, stored.add(connection, machine, replace=True), describe(fleet, number))


def _remove_others(connection: Connection, names: Sequence[str]) -> None:
    wanted = set(names)
    for machine in stored.machines(connection, enabled_only=False):
        if machine.name not in wanted:
            stored.remove(connection, machine.name)


def seed_past(
    engine: Engine, archive: Archive, plan: FleetPlan, now: datetime, on_round: Callable[[], None]
) -> Iterator[str]:
    """Simulate the plan's days before today, unless the standing campaign has drawn before; reports a line per day.

    Today is omitted: an estimate weights all visits of a day alike, so a day must have one rate of visits.
    """
    with engine.connect() as connection:
        campaign = campaigns.get(connection, campaigns.FLEET)
    if not plan.past_days or campaign.last_round >= 0:
        return
    from simulation.binaries import SymbolFolder  # noqa: PLC0415 - few fleets have a past
    from simulation.gateways import Simulation  # noqa: PLC0415
    from simulation.outcomes import NEVER, Failures  # noqa: PLC0415
    from simulation.past import Past, simulate_past  # noqa: PLC0415

    simulation = Simulation(plan.model(), SymbolFolder(plan.symbols), Failures() if plan.failures else NEVER)
    today = datetime(now.year, now.month, now.day, tzinfo=UTC)
    for back in range(plan.past_days, 0, -1):
        day = today - timedelta(days=back)
        random = generator(plan.seed, "past", day.toordinal())
        past = Past(day, day + timedelta(days=1), _ROUND_S, _VISITS)
        ended = simulate_past(
            engine, archive, campaign, past, simulation=simulation, random=random, on_round=on_round
        )
        yield f"{day:%Y-%m-%d}: {sum(ended.values()):,} visits"
