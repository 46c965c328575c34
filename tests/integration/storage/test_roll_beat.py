"""Merging as the collector and the operator start it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, insert, select
from typer.testing import CliRunner

from collector.merging import Merging
from services.commands.db import app
from storage.rolling.cubes import HOUR, HOURS_KEPT_DAYS, day_of
from storage.schema import dim_value, roll, roll_built, roll_queue
from tests.cell_facts import DAY_0, CellFacts, Seen, assert_right

pytestmark = pytest.mark.integration

DAY = datetime.fromtimestamp(DAY_0 * 86400, UTC)


@pytest.fixture
def facts(engine: Engine) -> CellFacts:
    made = CellFacts(engine, days=[DAY_0])
    made.stacks([(1, 2), (3,)])
    for machine in (1, 2):
        made.land(made.visit(DAY_0 * 24, machine_id=machine), [Seen({1: 2, 2: 1})])
    return made


def number(engine: Engine, column: Any, *conditions: Any) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count(column)).where(*conditions)).scalar_one()


def test_a_beat_merges_what_waits_and_then_lets_it_gather(engine: Engine, facts: CellFacts) -> None:
    merging = Merging(engine, every_s=3600, stopped=lambda: False)
    merging.merge(DAY)
    assert_right(engine)
    assert number(engine, roll_queue.c.entry_id) == 0
    facts.land(facts.visit(DAY_0 * 24, machine_id=3), [Seen({1: 2})])
    merging.merge(DAY)
    assert number(engine, roll_queue.c.entry_id) == 1, "an hour is not over, and one visit is no batch"
    Merging(engine, every_s=0, stopped=lambda: True).merge(DAY)
    assert number(engine, roll_queue.c.entry_id) == 1, "it was told to stop"
    Merging(engine, every_s=0, stopped=lambda: False).merge(DAY)
    assert_right(engine)


def test_a_beat_closes_days_and_drops_old_hours(engine: Engine, facts: CellFacts) -> None:
    Merging(engine, every_s=0, stopped=lambda: False).merge(DAY + timedelta(days=6))
    assert number(engine, roll_built.c.bucket, roll_built.c.level == 1) == 3
    assert number(engine, roll.c.bucket, roll.c.level == HOUR) > 0
    late = DAY + timedelta(days=HOURS_KEPT_DAYS + 1)
    Merging(engine, every_s=0, stopped=lambda: False).merge(late)
    assert number(engine, roll.c.bucket, roll.c.level == HOUR) == 0
    assert number(engine, roll.c.bucket) > 0


def test_an_operator_merges_and_rebuilds(
    engine: Engine, facts: CellFacts, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    with engine.begin() as connection:
        connection.execute(insert(dim_value).values(dim="application", value="web"))
    day = day_of(DAY_0).isoformat()
    merged = CliRunner().invoke(app, ["roll"])
    assert merged.exit_code == 0
    assert "2 visits with 4 facts merged." in merged.output
    assert_right(engine)
    for options in ([], ["--application", "web"]):
        rebuilt = CliRunner().invoke(app, ["rebuild", day, *options])
        assert rebuilt.exit_code == 0
        assert "hold 2 visits with 4 facts" in rebuilt.output
    assert_right(engine)
    unknown = CliRunner().invoke(app, ["rebuild", day, "--application", "none"])
    assert "Nobody has sampled" in str(unknown.exception)
