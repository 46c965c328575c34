"""RollupJob as the collector and the operator start it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, delete, func, insert, select, update
from typer.testing import CliRunner

from collector.rollup_job import RollupJob
from services.commands.db import app
from storage.database import snapshot
from storage.errors import DatabaseBusy
from storage.rollup.compact import compact
from storage.rollup.cubes import CUBES, EVENT, HOUR, HOURS_KEPT_DAYS, Source, day_of
from storage.rollup.daily import overdue
from storage.rollup.read_cells import read_cells
from storage.rollup.rebuild import Rebuilt, rebuild
from storage.rollup.time_cover import Cover
from storage.schema import chunk, coverage, dim_value, rollup, rollup_long, rollup_long_built, rollup_queue
from storage.snapshots.copy_binary import TooMuch
from tests.cell_facts import DAY_0, CellFacts, Seen, assert_right

pytestmark = pytest.mark.integration

DAY = datetime.fromtimestamp(DAY_0 * 86400, UTC)


@pytest.fixture
def facts(engine: Engine) -> CellFacts:
    made = CellFacts(engine, days=[DAY_0])
    made.stacks([(1, 2), (3,)])
    for machine in (1, 2):
        made.ingest(made.visit(DAY_0 * 24, machine_id=machine), [Seen({1: 2, 2: 1})])
    with engine.begin() as connection:
        connection.execute(
            insert(coverage).values(
                campaign_id=1, stratum_id=1, hour=DAY_0 * 24, utilisation_class=-1, day=day_of(DAY_0),
                population=10, drawn=2, answered=2, failed=0, seconds=10.0,
            )
        )  # fmt: skip
    return made


def weighted_cubes(level: int) -> int:
    """How many cubes have buckets of a level."""
    return sum(level in cube.weighted_levels for cube in CUBES)


def number(engine: Engine, column: Any, *conditions: Any) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count(column)).where(*conditions)).scalar_one()


def test_a_beat_merges_what_waits_and_then_lets_it_gather(engine: Engine, facts: CellFacts) -> None:
    merging = RollupJob(engine, every_s=3600, stopped=lambda: False)
    merging.merge(DAY)
    assert_right(engine)
    assert number(engine, rollup_queue.c.entry_id) == 0
    facts.ingest(facts.visit(DAY_0 * 24, machine_id=3), [Seen({1: 2})])
    merging.merge(DAY)
    assert number(engine, rollup_queue.c.entry_id) == 1, "an hour is not over, and one visit is no batch"
    RollupJob(engine, every_s=0, stopped=lambda: True).merge(DAY)
    assert number(engine, rollup_queue.c.entry_id) == 1, "it was told to stop"
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY)
    assert_right(engine)


def test_a_beat_merges_before_its_time_what_is_worth_a_transaction(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.rollup_job.WORTH_MERGING", 2)
    merging = RollupJob(engine, every_s=3600, stopped=lambda: False)
    merging.merge(DAY)
    for machine, left in ((3, 1), (4, 0)):
        facts.ingest(facts.visit(DAY_0 * 24, machine_id=machine), [Seen({1: 2})])
        merging.merge(DAY)
        assert number(engine, rollup_queue.c.entry_id) == left
    assert_right(engine)


@pytest.mark.slow
def test_a_beat_closes_days_and_drops_old_hours(engine: Engine, facts: CellFacts) -> None:
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY + timedelta(days=6))
    assert number(engine, rollup_long_built.c.bucket, rollup_long_built.c.level == 1) == weighted_cubes(1)
    assert number(engine, rollup.c.bucket, rollup.c.level == HOUR) > 0
    late = DAY + timedelta(days=HOURS_KEPT_DAYS + 1)
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(late)
    assert number(engine, rollup.c.bucket, rollup.c.level == HOUR) == 0
    assert number(engine, rollup.c.bucket) > 0


def test_a_damaged_cell_is_made_again_before_its_days_are_closed(engine: Engine, facts: CellFacts) -> None:
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY)
    with engine.begin() as connection:
        connection.execute(update(rollup).values(data=b"\x09"))
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY + timedelta(days=6))
    assert_right(engine)
    assert number(engine, rollup_long_built.c.bucket, rollup_long_built.c.level == 1) == weighted_cubes(1)


@pytest.mark.slow
def test_a_damaged_bucket_is_made_again_from_its_days(engine: Engine, facts: CellFacts) -> None:
    """Also when their facts are long gone."""
    later = DAY + timedelta(days=60)
    for utilisation in (0.1, 0.4, 0.6, 0.9):  # a cell each, which merge
        facts.ingest(facts.visit(DAY_0 * 24, utilisation=utilisation), [Seen({1: 2, 2: 1})])
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(later)
    with engine.begin() as connection:
        connection.execute(delete(rollup_long_built).where(rollup_long_built.c.level > 1))
        damaged = update(rollup_long).where(rollup_long.c.level == 1).values(data=b"\x09")
        assert connection.execute(damaged).rowcount > 0
        connection.execute(update(chunk).values(data=b"x"))
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(later)
    assert number(engine, rollup_long_built.c.bucket, rollup_long_built.c.level == 2) == weighted_cubes(2)
    assert number(engine, rollup_long.c.bucket, rollup_long.c.data == b"\x09") == 0


def test_a_day_that_cannot_be_mended_stays_open_and_ends_nothing(engine: Engine, facts: CellFacts) -> None:
    later = DAY + timedelta(days=HOURS_KEPT_DAYS + 1)
    merging = RollupJob(engine, every_s=0, stopped=lambda: False)
    merging.merge(DAY)
    with engine.begin() as connection:
        connection.execute(update(rollup).values(data=b"\x09"))
        connection.execute(update(chunk).values(data=b"x"))
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(later)
    assert number(engine, rollup_long_built.c.bucket) == 0
    assert number(engine, rollup.c.bucket, rollup.c.level == HOUR) > 0, "there is nothing but them"


def test_a_day_that_cannot_be_mended_is_made_again_once(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY)
    with engine.begin() as connection:
        connection.execute(update(rollup).values(data=b"\x09"))
        connection.execute(update(chunk).values(data=b"x"))
    tries = []

    def counted(of: Engine, day: date, **kwargs: Any) -> Rebuilt:
        tries.append(day)
        return rebuild(of, day, **kwargs)

    monkeypatch.setattr("storage.rollup.daily.rebuild", counted)
    mended: set[tuple[int, int]] = set()
    over = DAY + timedelta(days=2)
    for _ in range(3):
        compact(engine, over, mended=mended)
    assert tries == [day_of(DAY_0)]
    with engine.connect() as connection:
        assert overdue(connection, over) == [DAY_0]
        assert overdue(connection, DAY + timedelta(days=1)) == []


def test_a_failure_of_the_beat_is_not_repeated_at_once(
    engine: Engine, facts: CellFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def fails(*args: Any, **kwargs: Any) -> None:
        tries.append(args)
        raise DatabaseBusy

    monkeypatch.setattr("collector.rollup_job.compact", fails)
    merging = RollupJob(engine, every_s=0, stopped=lambda: False)
    with pytest.raises(DatabaseBusy):
        merging.merge(DAY)
    merging.merge(DAY)
    assert len(tries) == 1


@pytest.mark.slow
def test_an_operator_merges_and_rebuilds(
    engine: Engine, facts: CellFacts, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    with engine.begin() as connection:
        connection.execute(insert(dim_value).values(dim="application", value="web"))
    day = day_of(DAY_0).isoformat()
    merged = CliRunner().invoke(app, ["rollup"])
    assert merged.exit_code == 0
    assert "Added 2 visits with 4 facts to rollups." in merged.output
    assert_right(engine)
    for options in ([], ["--application", "web"]):
        rebuilt = CliRunner().invoke(app, ["rebuild", day, *options])
        assert rebuilt.exit_code == 0
        assert ": 2 visits with 4 facts" in rebuilt.output
    assert_right(engine)
    unknown = CliRunner().invoke(app, ["rebuild", day, "--application", "none"])
    assert "Unknown application" in str(unknown.exception)


def test_an_answer_of_too_many_cells_is_refused(engine: Engine, facts: CellFacts) -> None:
    RollupJob(engine, every_s=0, stopped=lambda: False).merge(DAY)
    with snapshot(engine) as connection, pytest.raises(TooMuch):
        read_cells(connection, Source(EVENT, 1, True, 1), Cover(hours=(DAY_0 * 24,)), limit=100)
