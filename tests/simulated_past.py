"""A past of a simulated fleet, visited, archived and ingested: the same each time."""

from random import Random
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, select, text

from collector import schedule_round
from collector.default_campaign import ensure_default_campaign
from simulation.binaries import SymbolFolder
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.gateways import Simulation
from simulation.outcomes import NEVER
from simulation.past import Past, simulate_past
from simulation.store_seeding import seed
from storage import campaigns
from storage.archive import Archive
from storage.campaigns import Counted, Definition, EventPlan
from storage.query.selections.selection import Selection
from storage.schema import capture
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester


def ingest_past(
    engine: Engine,
    archive: Archive,
    monkeypatch: pytest.MonkeyPatch,
    plan: FleetPlan,
    fleet: Fleet,
    *,
    events: tuple[EventPlan, ...],
    counted: Counted,
    over: Selection,
    visits: int,
    ids: int = 1,
) -> None:
    """Make up about so many visits, evenly over the selection's time, and ingest every capture.

    The fleet is the plan's, changed or not. A simulated window is a function of its visit's id, so `ids` seeds these.
    """
    numbers = Random(ids)
    monkeypatch.setattr(schedule_round, "uuid4", lambda: UUID(int=numbers.getrandbits(128), version=4))
    with engine.begin() as connection:
        seed(connection, plan)
        ensure_default_campaign(connection)
        campaign = campaigns.create_or_update(
            connection, Definition("fleet", 60.0, 1.0, events, counted=counted)
        )
    round_s = (over.end - over.start).total_seconds() / visits
    stretch = Past(over.start, over.end, round_s=round_s, visits_per_round=1.0)
    simulation = Simulation(fleet, SymbolFolder(plan.symbols), NEVER)
    simulate_past(engine, archive, campaign, stretch, simulation=simulation, random=np.random.default_rng(11))
    files = LocalFiles(debug_roots=(plan.symbols,))
    ingester = Ingester(engine, archive, Resolver(files, plan.symbols.parent / "cache"))
    with engine.connect() as connection:
        waiting = list(connection.scalars(select(capture.c.visit_id)))
    for visit_id in waiting:
        ingester.ingest(visit_id)
    # As autovacuum does within a minute or two: without it joins are planned for tables that look empty.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
