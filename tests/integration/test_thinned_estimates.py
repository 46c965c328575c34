"""GIVEN hours in which visits were thinned WHEN the day is asked about THEN its figures are what is true.

The collector's own draw, by a day's clock, against backlogs that are told; what machines do depends on the
hour, and most on the hours that are thinned, as it would be.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, func, insert, select

from collector import backpressure, schedule_round
from storage import campaigns, inventory, partitions, thinning, visits
from storage.backlog import Backlog, read_backlog
from storage.campaigns import Campaign, Definition, EventPlan
from storage.inventory import NewMachine
from storage.query.access_path import Costs, Planner
from storage.query.estimation.strata import read_strata
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.daily import ROLLED_UP_AFTER, roll_up_days
from storage.schema import (
    Outcome,
    capture,
    capture_segment,
    coverage,
    rollup_queue,
    sample_type,
    stratum,
    visit,
)
from storage.thinning import Thinned
from storage.visits import DrawnVisit
from tests.fact_writer import FactWriter, Visit

pytestmark = pytest.mark.integration

MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
SIZES = {"east": 18, "west": 12}
PLANNED = 16.0
PERIOD_S = 3600.0
SECONDS = 5.0
SAMPLE = 10_000_000
"""Nanoseconds of one sample."""
CALM, SO_SO, LATE = Backlog(3, 20.0), Backlog(500, 300.0), Backlog(3000, 900.0)
DAY = [CALM] * 6 + [LATE] * 2 + [SO_SO] * 3 + [CALM] * 13
HALVED = [0] * 6 + [1, 2, 2, 2, 2, 1] + [0] * 12
BUSY = {0: 40, 1: 90, 2: 400}
"""Samples of a visit by how thinned its hour was: it is when there is much to do that workers fall behind."""


@pytest.fixture(autouse=True)
def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day of as many visits as a campaign must plan to be thinned at all would take minutes to ingest."""
    monkeypatch.setattr(backpressure, "MIN_VISITS_PER_HOUR", 4)
    monkeypatch.setattr(backpressure, "MIN_VISITS_PER_STRATUM", 2)


@pytest.fixture
def fleet(engine: Engine) -> Campaign:
    with engine.begin() as connection:
        partitions.ensure(connection, [MIDNIGHT.date()])
        for datacenter, size in SIZES.items():
            for n in range(size):
                inventory.add(connection, NewMachine(f"{datacenter}-{n}", "h:1", datacenter=datacenter))
        return campaigns.create_or_update(
            connection, Definition("fleet", PERIOD_S, PLANNED, (EventPlan("cpu", 5000, rate_hz=99),))
        )


def live_a_day(
    engine: Engine, fleet: Campaign, monkeypatch: pytest.MonkeyPatch, period_s: float = PERIOD_S
) -> list[DrawnVisit]:
    """Draw every round of the day."""
    random = np.random.default_rng(4)
    drawn: list[DrawnVisit] = []
    for number in range(int(86400 / period_s)):
        now = MIDNIGHT + timedelta(seconds=number * period_s)
        monkeypatch.setattr(backpressure, "read_backlog", lambda _, hour=now.hour: DAY[hour])
        with engine.begin() as connection:
            found = schedule_round.draw_round(connection, fleet, now, random)
            assert found is not None
            drawn += [scheduled.visit for scheduled in found]
    return drawn


def ingest(connection: Connection, drawn: list[DrawnVisit]) -> None:
    """Every visit answers and ingests."""
    write = FactWriter(connection)
    main, serve, wait = (write.function(name, binary="app") for name in ("main", "serve", "wait"))
    stacks = write.stack([main, serve]), write.stack([main, wait])
    event = connection.execute(
        insert(sample_type).values(event="cpu", unit="nanoseconds").returning(sample_type.c.sample_type_id)
    ).scalar_one()
    for one in drawn:
        connection.execute(
            insert(capture).values(
                visit_id=one.visit_id, day=one.day, blob="none", bytes=1, raw_bytes=1, sha256=b"",
                samples=0, wanted=1, ingested=1, ingested_at=one.drawn_at,
            )
        )  # fmt: skip
        visits.finish(
            connection,
            one.visit_id,
            outcome=Outcome.ANSWERED,
            detail="",
            ended_at=one.drawn_at,
            seconds=SECONDS,
            utilisation=0.3,
        )
        busy = samples_of(one.drawn_at)
        connection.execute(
            insert(capture_segment).values(
                visit_id=one.visit_id, segment=0, day=one.day, event="cpu", sample_type_id=event, stacks=True,
                source="cpu", status="ok", errno=0, seconds=SECONDS, period=SAMPLE, requested_period=SAMPLE,
                samples=busy + 10,
            )
        )  # fmt: skip
        connection.execute(insert(rollup_queue).values(day=one.day, visit_id=one.visit_id, sign=1))
        of = Visit(one.visit_id, one.drawn_at, one.machine_id, one.campaign_id, one.stratum_id)
        write.profile(of, {stacks[0]: busy, stacks[1]: 10}, period=SAMPLE)


def samples_of(moment: datetime) -> int:
    """In `serve`, of a visit at that moment."""
    return BUSY[HALVED[moment.hour]]


def truth() -> dict[str, float]:
    """Nanoseconds of the fleet in each function, of the day."""
    machine_samples = sum(SIZES.values()) * SAMPLE / SECONDS
    served = 3600 * sum(BUSY[halved] for halved in HALVED)
    return {"serve": served * machine_samples, "wait": 10 * 86400 * machine_samples}


def selection(start: int = 0, end: int = 24) -> Selection:
    return Selection(start=MIDNIGHT + timedelta(hours=start), end=MIDNIGHT + timedelta(hours=end))


def test_the_visits_of_an_hour_are_halved_while_captures_wait(
    engine: Engine, fleet: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_a_day(engine, fleet, monkeypatch)
    with engine.connect() as connection:
        rows = connection.execute(
            select(
                visit.c.hour,
                func.count().label("visits"),
                func.min(stratum.c.thinning).label("least"),
                func.max(stratum.c.thinning).label("most"),
                func.min(visit.c.probability * visit.c.population).label("expected"),
            )
            .join(stratum, stratum.c.stratum_id == visit.c.stratum_id)
            .group_by(visit.c.hour)
            .order_by(visit.c.hour)
        ).all()
        assert thinning.of_hour(connection, fleet.campaign_id, rows[8].hour) == Thinned(2, 2)
        assert thinning.latest(connection, rows[8].hour) == {fleet.campaign_id: 2}
    assert [row.most for row in rows] == HALVED
    assert [row.least for row in rows] == HALVED
    assert [row.visits for row in rows] == [PLANNED * 0.5**halved for halved in HALVED]
    smallest = PLANNED * SIZES["west"] / sum(SIZES.values())
    assert [row.expected for row in rows] == pytest.approx([smallest * 0.5**halved for halved in HALVED])


@pytest.mark.slow
def test_a_days_estimates_are_what_is_true(
    engine: Engine, fleet: Campaign, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = live_a_day(engine, fleet, monkeypatch)
    with engine.begin() as connection:
        ingest(connection, drawn)
    true = truth()
    # Were the day's visits of a stratum pooled, what happened in its thinned hours would count too little.
    pooled = sum(samples_of(one.drawn_at) for one in drawn) / len(drawn)
    assert pooled * sum(SIZES.values()) * 86400 / SECONDS * SAMPLE < 0.7 * true["serve"]
    by_function, by_stack = [], []

    def merge() -> None:
        queries.planner = Planner(costs=Costs(stacks=100, stacks_of_all=50))
        while RollupWriter(engine).rollup().entries:
            pass

    def read_cells_of_few_visits() -> None:
        queries.planner = Planner(costs=Costs(stacks=2, stacks_of_all=1))

    def fold_the_day() -> None:
        monkeypatch.undo()
        queries.planner = Planner()
        assert roll_up_days(engine, MIDNIGHT + timedelta(days=1) + ROLLED_UP_AFTER)

    # The day's 144 cells of hours hold two visits each: it is about as fast to read their stacks one by one.
    for step in (lambda: None, merge, read_cells_of_few_visits, fold_the_day):
        step()
        answer = queries.ask(TableQuestion(selection(), ("function",), Page()))
        by_function.append(answer.totals.path)
        rows = {row.key["function"]: row.self_core_seconds.scaled(1e9) for row in answer.rows}
        assert answer.totals.population == pytest.approx(sum(SIZES.values()))
        for name, value in true.items():
            assert rows[name].value == pytest.approx(value)
            assert rows[name].lo <= value * (1 + 1e-9)
            assert value <= rows[name].hi * (1 + 1e-9)
        flame = queries.ask(FlameTreeQuestion(selection())).totals
        by_stack.append(flame.path)
        assert flame.estimate.value == pytest.approx(answer.totals.estimate.value)
    assert by_function == ["mixed", "cells", "cells", "cells"]
    assert by_stack == ["mixed", "chunks", "cells", "cells"]


@pytest.mark.slow
def test_thinned_hours_compare_with_others(
    engine: Engine, fleet: Campaign, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A visit of a thinned hour is dealt out among those of the same machines' other hours."""
    drawn = live_a_day(engine, fleet, monkeypatch)
    with engine.begin() as connection:
        ingest(connection, [one for one in drawn if one.drawn_at.hour in range(4, 14)])
    found = queries.ask(DiffQuestion(selection(6, 12), selection(12, 24), ("function",), limit=10))
    [serve] = [row for row in found.rows if row.key["function"] == "serve"]
    assert serve.p is not None
    assert serve.p < 0.01
    assert serve.significant


def test_rounds_that_reach_into_two_hours_leave_each_its_density(
    engine: Engine, fleet: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour in strata of two thinnings would be counted twice."""
    with engine.begin() as connection:
        longer = campaigns.create_or_update(
            connection, replace(fleet.definition, period_s=5400.0, visits_per_round=24.0)
        )
    drawn = live_a_day(engine, longer, monkeypatch, 5400.0)
    with engine.connect() as connection:
        rows = connection.execute(
            select(
                coverage.c.hour,
                func.count().label("strata"),
                func.min(stratum.c.thinning).label("least"),
                func.max(stratum.c.thinning).label("most"),
                func.sum(coverage.c.population).label("machines"),
                func.sum(coverage.c.drawn).label("drawn"),
            )
            .join(stratum, stratum.c.stratum_id == coverage.c.stratum_id)
            .group_by(coverage.c.hour)
            .order_by(coverage.c.hour)
        ).all()
        strata = read_strata(connection, fleet.campaign_id, MIDNIGHT, MIDNIGHT + timedelta(days=1))
    # Rounds begin at 0:00, 1:30, 3:00, …; those at 6:00 and 7:30 find captures late, and begin 6, 7 and 8.
    assert [row.most for row in rows] == [0] * 6 + [1, 1, 2, 2, 2, 2] + [1, 1] + [0] * 10
    assert [row.least for row in rows] == [row.most for row in rows]
    assert {(row.strata, row.machines) for row in rows} == {(len(SIZES), sum(SIZES.values()))}
    assert sum(row.drawn for row in rows) == len(drawn)
    assert strata is not None
    assert strata.machines == pytest.approx(sum(SIZES.values()))
    assert len(set(strata.stratum.tolist())) == 3 * len(SIZES)
    assert len(set(strata.alike.tolist())) == len(SIZES), "who is too few is joined with the same machines"


def test_only_what_waits_as_it_came_is_backlog(
    engine: Engine, fleet: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not what somebody has tried again, which is as old as it is."""
    monkeypatch.setattr(backpressure, "read_backlog", lambda _: CALM)
    now = datetime.now(UTC)
    columns = {"minutes": [2, 90, 90, 90, 90], "wanted": [1, 2, 1, 1, 2], "ingested": [0, 0, 1, 0, 1]}
    attempts = [0, 0, 0, 1, 0]
    with engine.begin() as connection:
        drawn = schedule_round.draw_round(connection, fleet, MIDNIGHT, np.random.default_rng(4))
        assert drawn is not None
        for one, minutes, wanted, ingested, tried in zip(drawn, *columns.values(), attempts, strict=False):
            connection.execute(
                insert(capture).values(
                    visit_id=one.visit_id, day=one.visit.day, blob="some", bytes=1, raw_bytes=1, sha256=b"",
                    samples=0, wanted=wanted, ingested=ingested, attempts=tried,
                    archived_at=now - timedelta(minutes=minutes),
                )
            )  # fmt: skip
        found = read_backlog(connection)
    assert found.waiting == 1
    assert 110 < found.oldest_s < 3600
