"""A past of a simulated fleet, visited, archived and landed: the same each time."""

from random import Random
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, select, text

from collector import appointments
from collector.standing import ensure_standing
from services.simulate.binaries import SymbolFolder
from services.simulate.fleet import Fleet
from services.simulate.gateways import Simulation
from services.simulate.history import Past, make_up
from services.simulate.outcomes import NEVER
from services.simulate.run import FleetPlan
from services.simulate.seeding import seed
from storage import campaigns
from storage.archive import Archive
from storage.campaigns import Counted, Definition, EventPlan
from storage.query.selections.selection import Selection
from storage.schema import capture
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.landing import Lander


def land_past(
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
    """Make up about so many visits, evenly over the selection's time, and land every capture.

    The fleet is the plan's, changed or not. A simulated window is a function of its visit's id, so `ids` seeds these.
    """
    numbers = Random(ids)
    monkeypatch.setattr(appointments, "uuid4", lambda: UUID(int=numbers.getrandbits(128), version=4))
    with engine.begin() as connection:
        seed(connection, plan)
        ensure_standing(connection)
        campaign = campaigns.create_or_update(
            connection, Definition("fleet", 60.0, 1.0, events, counted=counted)
        )
    round_s = (over.end - over.start).total_seconds() / visits
    stretch = Past(over.start, over.end, round_s=round_s, visits_per_round=1.0)
    simulation = Simulation(fleet, SymbolFolder(plan.symbols), NEVER)
    make_up(engine, archive, campaign, stretch, simulation=simulation, random=np.random.default_rng(11))
    files = LocalFiles(debug_roots=(plan.symbols,))
    lander = Lander(engine, archive, Resolver(files, plan.symbols.parent / "cache"))
    with engine.connect() as connection:
        waiting = list(connection.scalars(select(capture.c.visit_id)))
    for visit_id in waiting:
        lander.land(visit_id)
    # As autovacuum does within a minute or two: without it joins are planned for tables that look empty.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
