"""GIVEN a collector that was down for hours WHEN a day is queried THEN its visits stand for the time it was up.

They used to stand for whole hours: of a collector that came back twenty seconds before an hour's end, the hour
that had just begun came out six times too high.
"""

from datetime import UTC, datetime, timedelta
from math import inf

import pytest
from alembic import command
from sqlalchemy import Engine, func, select

from storage import migrate
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.compact import compact
from storage.schema import rollup_long_built
from tests.sampled_campaign import Campaign

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
BUCKET = datetime(2026, 11, 15, tzinfo=UTC)
"""Beginning of the four days that are closed together with that one."""
SIZES = {"east": 100, "west": 100}
EVERY_S = 5
"""Between two visits of a stratum, at all times when anyone is visited."""
PERIOD = 10_000_000
SAMPLES = 50
CORES = SAMPLES * PERIOD / 5 * sum(SIZES.values())
"""Nanoseconds a second: each machine is as busy as the others."""
RUNS = ((0, 600), (8 * 3600 - 20, 8 * 3600 + 660))
"""Seconds after midnight."""


def ingest(engine: Engine, *, known: bool = True) -> None:
    """`known`: when rounds were drawn is noted."""
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES)
        stack = fleet.write.stack([fleet.write.function("main")])
        for start, end in RUNS:
            if known:
                fleet.cover(at(start), at(end))
            for second in range(start, end, EVERY_S * len(SIZES)):
                for number, stratum in enumerate(SIZES):
                    visit = fleet.answer(at(second + EVERY_S * number), stratum, machine=stratum)
                    fleet.write.profile(visit, {stack: SAMPLES}, period=PERIOD)


def at(seconds: int) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


@pytest.mark.parametrize("merged", [False, True])
def test_each_hour_has_what_was_used_while_rounds_were_drawn(
    engine: Engine, queries: QueryEngine, merged: bool
):
    ingest(engine)
    while merged and RollupWriter(engine).rollup().entries:
        pass
    day = Selection(at(0), at(86_400))
    answer = queries.ask(SeriesQuestion(day, step_s=3600))
    steps = {number: step for number, step in enumerate(answer.steps) if step.covered_seconds}
    assert {number: step.covered_seconds for number, step in steps.items()} == {0: 600, 7: 20, 8: 660}
    for number, step in steps.items():
        point = answer.whole[number]
        assert point.core_seconds.value == pytest.approx(CORES * step.covered_seconds * 1e-9)
    table = queries.ask(TableQuestion(day, ("function",))).totals
    assert table.path == ("cells" if merged else "mixed")
    assert table.covered_seconds == table.estimated_seconds == 1280
    assert table.estimate.value == pytest.approx(CORES * 1280)
    assert table.population == pytest.approx(200)


def test_a_part_of_an_hour_before_rounds_began_is_not_covered(engine: Engine, queries: QueryEngine):
    ingest(engine)
    early = Selection(at(7 * 3600), at(8 * 3600 - 10))
    totals = queries.ask(TableQuestion(early, ("function",))).totals
    assert (totals.selected_seconds, totals.covered_seconds) == (3590, 10)
    assert totals.estimate.value == pytest.approx(CORES * 10)
    before = Selection(at(7 * 3600), at(7 * 3600 + 1800))
    totals = queries.ask(TableQuestion(before, ("function",))).totals
    assert (totals.covered_seconds, totals.visits, totals.estimate) == (0, 0, None)


def test_an_upgrade_has_closed_days_weigh_what_rounds_covered(engine: Engine, queries: QueryEngine):
    """They were closed with the weights of hours that counted whole."""
    ingest(engine, known=False)
    while RollupWriter(engine).rollup().entries:
        pass
    days = Selection(BUCKET, BUCKET + timedelta(days=4))
    assert compact(engine, MIDNIGHT + timedelta(days=90), most_rows=inf)
    before = queries.ask(TableQuestion(days, ("function",))).totals
    assert before.estimate.value == pytest.approx(CORES * 3 * 3600)
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")
        command.upgrade(config, "head")
    for _ in range(2):
        fresh = QueryEngine(engine)
        found = fresh.ask(TableQuestion(days, ("function",))).totals
        fresh.close()
        covered = found.covered_seconds
        # Both runs end a round after their last visits, whose rounds nobody knows: a minute each too much at most.
        assert 1280 <= covered <= 1280 + 2 * 60
        assert found.path == "cells"
        assert found.estimate.value == pytest.approx(CORES * covered)
        compact(engine, MIDNIGHT + timedelta(days=90), most_rows=inf)
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(rollup_long_built)) > 0
