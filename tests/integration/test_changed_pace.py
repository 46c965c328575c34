"""GIVEN a campaign that is given another pace within a UTC day WHEN the day is asked about THEN its figures are right at once.

The collector's own draw lives whole days. The load rises from hour to hour and so, twice, does the number of visits: were visits of
unequal density to weigh alike, busy hours would count for more than they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from scipy.stats import ttest_1samp
from sqlalchemy import Engine, func, select, text

from collector import schedule_round
from collector.schedule import round_at, round_start
from storage import campaigns, inventory, migrate
from storage.campaigns import Definition, EventPlan
from storage.coverage import note_populations
from storage.inventory import NewMachine
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from storage.schema import coverage, stratum, visit
from storage.segments.location import Lake
from storage.visits import Outcome
from tests.access_paths import BY_CELLS, BY_VISITS, planned
from tests.sampled_campaign import Campaign
from tests.small_lake import MIDNIGHT, Store, minutes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

SIZES = {"east": 60, "west": 40}
SAMPLE = 10_000_000
"""Nanoseconds of one sample."""
SECONDS = 5.0
WAITING = 40
"""Samples of each visit in `wait`, whatever the hour."""
DRAWS = 4


@dataclass(frozen=True)
class Pace:
    """What a campaign is set to at a moment."""

    minute: int
    period_s: float
    visits: float


DAY = Pace(0, 1800, 1), Pace(9 * 60 + 20, 1800, 4), Pace(17 * 60 + 40, 900, 1.5)
"""2, 8 and 6 visits an hour: first another number of visits, then another period, too."""
BY_HOUR = [2.0] * 10 + [8.0] * 8 + [6.0] * 6
"""The pace of each hour: that which the first round to reach into it was drawn at."""


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Iterator[Store]:
    made = Store(engine, Lake(str(tmp_path / "lake")))
    with engine.begin() as connection:
        for datacenter, size in SIZES.items():
            for n in range(size):
                inventory.add(connection, NewMachine(f"{datacenter}-{n}", "h:1", datacenter=datacenter))
    yield made
    made.postgres.close()
    made.duckdb.close()


def serving(hour: int) -> int:
    """Samples in `serve` of a visit in that hour."""
    return 30 * (1 + hour)


def truth(first: int, end: int) -> dict[str, float]:
    """Nanoseconds of the fleet in each function, between two hours of the day."""
    machine_samples = 3600 * sum(SIZES.values()) * SAMPLE / SECONDS
    served = sum(map(serving, range(first, end)))
    return {"serve": served * machine_samples, "wait": WAITING * (end - first) * machine_samples}


def live(engine: Engine, name: str, seed: int) -> None:
    """A campaign's day: rounds are drawn in their time, and visits are ingested until the next period loses those that are left."""
    random = np.random.default_rng(seed)
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES, name)
        main, serve, wait = (fleet.write.function(each, binary="app") for each in ("main", "serve", "wait"))
        stacks = fleet.write.stack([main, serve]), fleet.write.stack([main, wait])
        for pace, following in zip(DAY, (*DAY[1:], None), strict=True):
            definition = Definition(name, pace.period_s, pace.visits, (EventPlan("cpu", 5000, rate_hz=99),))
            campaign = campaigns.create_or_update(connection, definition)
            until = at(following.minute if following else 1440)
            kept_until = until if following and following.period_s != pace.period_s else at(1440)
            now = at(pace.minute)
            while now < until:
                drawn = schedule_round.draw_round(connection, campaign, now, random) or []
                for each in drawn:
                    if each.visit.drawn_at < kept_until:
                        seen = {stacks[0]: serving(each.visit.drawn_at.hour), stacks[1]: WAITING}
                        ingested = fleet.ingest(each.visit, utilisation=0.3, seconds=SECONDS)
                        fleet.write.profile(ingested, seen, period=SAMPLE)
                now = round_start(round_at(now, pace.period_s) + 1, pace.period_s)


def at(minute: int) -> datetime:
    return MIDNIGHT + timedelta(minutes=minute)


def table(campaign: str, first: int = 0, end: int = 24) -> TableQuestion:
    return TableQuestion(minutes(60 * first, 60 * end, campaign=campaign), ("function",), Page())


def test_estimates_of_a_day_are_unbiased_and_their_intervals_hold_the_truth(store: Store) -> None:
    """Over days drawn at random, of which the seeds are fixed; the whole day and the hours around each change."""
    for part in ((0, 24), (4, 16), (12, 24)):
        errors: dict[str, list[float]] = {name: [] for name in truth(*part)}
        held = 0
        for seed in range(DRAWS):
            if part == (0, 24):
                live(store.engine, f"c{seed}", seed)
            answer = store.postgres.ask(table(f"c{seed}", *part))
            assert answer.totals.covered_seconds == 3600 * (part[1] - part[0])
            assert answer.totals.population == pytest.approx(sum(SIZES.values()))
            rows = {row.key["function"]: row.self_core_seconds.scaled(1e9) for row in answer.rows}
            for name, true in truth(*part).items():
                errors[name].append(rows[name].value / true - 1)
                held += rows[name].lo * (1 - 1e-9) <= true <= rows[name].hi * (1 + 1e-9)
        assert held >= 2 * DRAWS - 1, part
        assert errors["wait"] == pytest.approx([0] * DRAWS), "a load that does not change has no error at all"
        assert ttest_1samp(errors["serve"], 0).pvalue > 0.01, (part, errors["serve"])
        assert max(map(abs, errors["serve"])) < 0.02, "pooled, all days would come out a fifth too large"


def test_cells_and_the_lake_weigh_as_visits_do(store: Store) -> None:
    live(store.engine, "fleet", 1)
    while RollupWriter(store.engine).rollup().entries:
        pass
    store.export()
    questions = table("fleet"), table("fleet", 7, 14), FlameTreeQuestion(minutes(0, 1440), 100)
    for question in questions:
        with planned(store.postgres, BY_VISITS):
            by_visits = store.check(question).totals
        with planned(store.postgres, BY_CELLS):
            by_cells = store.postgres.ask(question).totals
        assert by_cells.path in {"cells", "mixed"}
        assert by_cells.estimate.value == pytest.approx(by_visits.estimate.value)
    with planned(store.postgres, BY_VISITS):
        before, after = minutes(4 * 60, 10 * 60), minutes(10 * 60, 16 * 60)
        found = store.check(DiffQuestion(after, before, ("function",), limit=10))
    [serve] = [row for row in found.rows if row.key["function"] == "serve"]
    assert serve.significant, "visits at another pace are dealt out among those of the same machines"


def test_an_hour_has_one_pace_and_its_machines_count_once(store: Store) -> None:
    live(store.engine, "fleet", 1)
    with store.engine.connect() as connection:
        hours = connection.execute(
            select(
                func.array_agg(stratum.c.visits_per_hour.distinct()).label("paces"),
                func.sum(coverage.c.population).filter(coverage.c.utilisation_class == -1).label("machines"),
            )
            .join(stratum, stratum.c.stratum_id == coverage.c.stratum_id)
            .group_by(coverage.c.hour)
            .order_by(coverage.c.hour)
        ).all()
        lost = connection.scalars(select(visit.c.drawn_at).where(visit.c.outcome == Outcome.LOST)).all()
    assert [hour.paces for hour in hours] == [[pace] for pace in BY_HOUR]
    assert {hour.machines for hour in hours} == {sum(SIZES.values())}
    assert lost, "another period's rounds draw the rest of the old one's round anew"
    assert all(at(17 * 60 + 40) <= drawn_at < at(18 * 60) for drawn_at in lost)


def test_an_upgrade_leaves_the_hour_that_has_begun_its_strata(store: Store) -> None:
    """Of them no pace is known; from the next hour on strata have one."""
    with store.engine.begin() as connection:
        definition = Definition("fleet", 1800, 20, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign = campaigns.create_or_update(connection, definition)
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0010")
        before = [
            connection.scalar(
                text("INSERT INTO stratum (datacenter, platform) VALUES (:name, '') RETURNING stratum_id"),
                {"name": name},
            )
            for name in SIZES
        ]
        hour = int(MIDNIGHT.timestamp()) // 3600
        populations = dict(zip(before, SIZES.values(), strict=True))
        note_populations(connection, campaign.campaign_id, populations, [hour])
        command.upgrade(config, "head")
        random = np.random.default_rng(1)
        for minute in (30, 60):
            assert schedule_round.draw_round(connection, campaign, at(minute), random)
        rows = connection.execute(
            select(coverage.c.hour, coverage.c.stratum_id, stratum.c.visits_per_hour)
            .distinct()
            .join(stratum, stratum.c.stratum_id == coverage.c.stratum_id)
            .order_by(coverage.c.hour, coverage.c.stratum_id)
        ).all()
    assert [(row.stratum_id, row.visits_per_hour) for row in rows[:2]] == [(each, 0) for each in before]
    assert [(row.hour, row.visits_per_hour) for row in rows[2:]] == [(hour + 1, 40)] * len(SIZES)
