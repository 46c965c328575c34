"""A simulated fleet in a store of its own: its machines, described, and nobody else's."""

from collections.abc import Sequence

from sqlalchemy import Connection

from services.simulate.machine_facts import describe
from services.simulate.run import FleetPlan, inventory
from storage import inventory as stored


def seed(connection: Connection, plan: FleetPlan) -> None:
    """Make the inventory that of the plan: add and describe its machines, remove all others; their past stays."""
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
