"""GIVEN a fleet whose busy machines fail more often WHEN its past is ingested THEN estimates meet the truth."""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select

from collector.default_campaign import ensure_default_campaign
from simulation.binaries import SymbolFolder
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.gateways import Simulation
from simulation.ground_truth import Truth, Wanted, truth
from simulation.outcomes import NEVER, Failures
from simulation.past import Past, simulate_past
from simulation.store_seeding import seed, seed_past
from storage import campaigns, inventory
from storage.archive import Archive
from storage.campaigns import Definition, EventPlan
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.reliability import ReliabilityQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.schema import Outcome, capture, visit
from storage.segments.export import export_day
from storage.segments.lake_engine import LakeEngine
from storage.segments.location import Lake
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester
from tests.access_paths import BY_VISITS
from tests.answer_comparison import differences

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

MACHINES = 40
DAY = datetime(2026, 11, 17, tzinfo=UTC)
HOURS = 12
VISITS = 160
OFTEN = Failures(away=0.01, garbage=0.01, silent=0.0, busiest=0.7)


@pytest.fixture
def plan(tmp_path: Path) -> FleetPlan:
    return FleetPlan(MACHINES, tmp_path / "s", tmp_path / "b", strata=4)


def past(
    engine: Engine, archive: Archive, plan: FleetPlan, failures: Failures, visits: int = VISITS
) -> Counter[Outcome]:
    """Half a day of visits; what it brought waits to be ingested."""
    with engine.begin() as connection:
        seed(connection, plan)
        ensure_default_campaign(connection)
        campaign = campaigns.create_or_update(
            connection, Definition("fleet", 60.0, 1.0, (EventPlan("cpu", 1000, rate_hz=99.0),))
        )
    stretch = Past(DAY, DAY + timedelta(hours=HOURS), round_s=HOURS * 3600 / visits, visits_per_round=1.0)
    simulation = Simulation(plan.model(), SymbolFolder(plan.symbols), failures)
    return simulate_past(
        engine, archive, campaign, stretch, simulation=simulation, random=np.random.default_rng(11)
    )


def ingest(engine: Engine, archive: Archive, folder: Path) -> None:
    ingester = Ingester(engine, archive, Resolver(LocalFiles(debug_roots=(folder / "b",)), folder / "cache"))
    with engine.connect() as connection:
        waiting = list(connection.scalars(select(capture.c.visit_id)))
    for visit_id in waiting:
        ingester.ingest(visit_id)
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).where(capture.c.ingested < capture.c.wanted)) == 0


def true(fleet: Fleet) -> Truth:
    return truth(fleet, Wanted(DAY.timestamp(), (DAY + timedelta(hours=HOURS)).timestamp()), failures=OFTEN)


@pytest.mark.slow
def test_estimates_meet_the_truth_though_busy_machines_fail(engine, archive, plan, tmp_path):
    ended = past(engine, archive, plan, OFTEN)
    found = true(plan.model())
    assert sum(ended.values()) == VISITS
    assert abs(ended[Outcome.ANSWERED] / VISITS - found.answering) < 4 * np.sqrt(0.25 / VISITS)
    assert found.answering < 0.97
    ingest(engine, archive, tmp_path)
    queries = QueryEngine(engine)
    try:
        answer = queries.ask(
            TableQuestion(Selection(DAY, DAY + timedelta(hours=HOURS)), ("application",), Page(limit=100))
        )
    finally:
        queries.close()
    cpu_ns = answer.totals.estimate
    assert cpu_ns is not None
    assert answer.totals.covered_seconds == pytest.approx(HOURS * 3600, rel=0.01)
    error = (cpu_ns.hi - cpu_ns.lo) / (2 * 1.96)
    assert abs(cpu_ns.value - found.units) < 3.5 * error < 0.5 * found.units
    rows = {row.key["application"]: row for row in answer.rows}
    largest = list(found.applications)[:12]
    held = [
        rows[name].self_lo <= found.applications[name] / found.units <= rows[name].self_hi for name in largest
    ]
    assert sum(held) >= 9
    assert answer.totals.symbolized == 1.0
    check_lake(engine, Lake(str(tmp_path / "lake")))


def check_lake(engine: Engine, lake: Lake) -> None:
    """Its day, exported, is answered as PostgreSQL does, visit by visit."""
    made = export_day(engine, lake, DAY.date())
    assert made is not None
    assert made.facts > 0
    whole = Selection(DAY, DAY + timedelta(days=1))
    part = parse_selection(
        start=(DAY + timedelta(hours=1)).isoformat(),
        end=(DAY + timedelta(hours=7, minutes=20)).isoformat(),
        select='{platform=~".+", application!~"kernel.*"}',
        ignore="^sys_",
    )
    queries = QueryEngine(engine)
    queries.planner = BY_VISITS
    with closing(queries):
        for question in (
            TableQuestion(whole, ("function",), Page(limit=1000)),
            TableQuestion(part, ("application", "platform"), Page(limit=1000)),
            TableQuestion(part, ("datacenter", "binary"), Page(limit=1000)),
            FlameTreeQuestion(whole, 1000),
            ReliabilityQuestion(part, ("function",)),
        ):
            found = LakeEngine(lake).ask(question).answer
            assert differences(queries.ask(question), found) == []


@pytest.mark.slow
def test_a_fleet_that_never_fails_answers_every_visit(engine, archive, plan):
    assert past(engine, archive, plan, NEVER, 60) == {Outcome.ANSWERED: 60}
    with engine.connect() as connection:
        drawn = connection.execute(select(func.min(visit.c.drawn_at), func.max(visit.c.drawn_at))).one()
        assert len(inventory.machines(connection)) == MACHINES
    assert DAY <= drawn[0] < drawn[1] < DAY + timedelta(hours=HOURS)
    for days in (0, 1):  # 1: a campaign that has drawn has its own past
        asked = replace(plan, past_days=days)
        assert list(seed_past(engine, archive, asked, DAY, pytest.fail)) == []


def test_a_past_of_no_length_is_refused():
    with pytest.raises(ValueError, match="empty"):
        Past(DAY, DAY)
