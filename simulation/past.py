"""The past of a simulated fleet: draw rounds, finish visits and archive captures as if days had passed.

Everything except the clock and the network is the collector's own code: the draw, the records, the archive. Workers
ingest the captures like any others, so fleetprof itself fills a store with a past.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Engine

from collector import sweep, visit_records
from collector.plan import plan_message
from collector.schedule import round_start
from collector.schedule_round import ScheduledVisit, draw_round
from collector.visit import ReceivedCapture, VisitResult
from gateway.capture.limits import Schedule, schedule
from gateway.settings import Limits
from simulation.captures import take
from simulation.fleet import slot_of
from simulation.gateways import Simulation
from simulation.machine_facts import capacity, clock_skew_s, find_event
from simulation.outcomes import Fate, fate
from simulation.seeded_random import generator
from storage.archive import Archive
from storage.campaigns import Campaign
from storage.schema import Outcome

_ANSWERED_BEFORE_FAILING = frozenset({Fate.REFUSES, Fate.BREAKS, Fate.HANGS})
_CALL_S = 0.1


@dataclass(frozen=True, slots=True)
class Past:
    """Rounds to simulate: those that begin in [start, end)."""

    start: datetime
    end: datetime
    round_s: float = 60.0
    visits_per_round: float = 1.0

    def __post_init__(self) -> None:
        """Raises ValueError for an empty range."""
        if not self.end > self.start:
            raise ValueError("The past is empty.")

    @property
    def rounds(self) -> range:
        """Numbers of the rounds."""
        first = -int(-self.start.timestamp() // self.round_s)
        return range(first, -int(-self.end.timestamp() // self.round_s))


def simulate_past(
    engine: Engine,
    archive: Archive,
    campaign: Campaign,
    past: Past,
    *,
    simulation: Simulation,
    random: np.random.Generator,
    on_round: Callable[[], None] = lambda: None,
) -> Counter[Outcome]:
    """Draw the rounds and finish their visits, calling `on_round` after each; returns the visits by outcome.

    The inventory must be that of the simulation's fleet, with described machines, and the campaign must not have drawn
    later rounds. Raises `StorageError`.
    """
    fleet = simulation.fleet
    number_of = {fleet.name(machine): machine for machine in range(fleet.size)}
    definition = replace(campaign.definition, period_s=past.round_s, visits_per_round=past.visits_per_round)
    then = replace(campaign, definition=definition)
    ended: Counter[Outcome] = Counter()
    room = None
    for number in past.rounds:
        begins = round_start(number, past.round_s)
        if begins.date() != room:
            sweep.create_partitions(engine, begins.date())
            room = begins.date()
        with engine.begin() as connection:
            scheduled_visits = draw_round(connection, then, begins, random, as_stored=False) or []
        for scheduled in scheduled_visits:
            visited = visit(simulation, number_of[scheduled.machine.name], scheduled)
            visit_records.open_visit(engine, scheduled, visited.started_at)
            visit_records.close_visit(engine, archive, scheduled.visit, visited)
            ended[visited.outcome] += 1
        on_round()
    return ended


def visit(simulation: Simulation, machine: int, scheduled: ScheduledVisit) -> VisitResult:
    """Result of visiting a machine at the time for which it was drawn."""
    fleet, failures = simulation.fleet, simulation.failures
    moment = scheduled.visit.drawn_at
    at, visit_id = moment.timestamp(), scheduled.visit_id.bytes
    utilisation = float(fleet.at(slot_of(at), np.array([machine])).utilisation[0])
    what = fate(fleet, failures, machine, visit_id, slot=slot_of(at), utilisation=utilisation)
    definition = scheduled.campaign.definition
    plan = plan_message(
        scheduled.visit_id,
        definition.events,
        campaign=scheduled.campaign.name,
        counted=definition.counted,
    )
    planned = schedule(plan, Limits(), capacity(fleet, machine), find_event)
    ended_at = moment + timedelta(seconds=planned.seconds + _CALL_S)
    if what is Fate.ANSWERS:
        return _answered(simulation, machine, planned, scheduled, ended_at)
    return VisitResult(
        outcome=what.outcome,
        detail=f"simulated: {what.value}",
        started_at=moment,
        ended_at=ended_at,
        utilisation=utilisation if what in _ANSWERED_BEFORE_FAILING else None,
    )


def _answered(
    simulation: Simulation, machine: int, planned: Schedule, scheduled: ScheduledVisit, ended_at: datetime
) -> VisitResult:
    fleet, visit_id, moment = simulation.fleet, scheduled.visit_id.bytes, scheduled.visit.drawn_at
    random = generator(fleet.seed, "visit", int.from_bytes(visit_id, "little"))
    taken = take(fleet, machine, planned, visit_id, at=moment.timestamp(), random=random)
    simulation.symbols.add(taken.builds)
    packed = taken.packed
    return VisitResult(
        outcome=Outcome.ANSWERED,
        detail="",
        started_at=moment,
        ended_at=ended_at,
        seconds=taken.seconds,
        utilisation=taken.utilisation,
        clock_skew_s=clock_skew_s(fleet, machine),
        changes=planned.changes,
        received=ReceivedCapture(
            packed.data, hashlib.sha256(packed.data).digest(), packed.raw_bytes, packed.samples, None
        ),
    )
