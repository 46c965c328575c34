"""Who starts retention and sweeps: the collector by itself, an operator by `fleetprof db`."""

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select

from collector.run import Collector, Pace
from services.cli import main
from storage import partitions
from storage.archive import Archive, capture_key
from storage.database import open_engine
from storage.ingest.interning import Interner
from storage.retention.retain import Keep
from storage.rollup.apply_queue import RollupWriter
from storage.schema import capture, dictionary_epoch, stack
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import ingested, is_as_ingested

pytestmark = pytest.mark.integration

Run = Callable[..., str]
NOW = datetime.now(UTC)


@pytest.fixture
def old_and_new(engine: Engine, archive: Archive) -> tuple[UUID, UUID]:
    """A visit too old to keep and one of yesterday, ingested, with nothing in common."""
    ids = []
    for seed, age in ((1, 40), (2, 1)):
        [visit_id] = archived(engine, drawn_at=NOW - timedelta(days=age))
        archive.put(capture_key((NOW - timedelta(days=age)).date(), visit_id), b"raw")
        ingested(engine, Interner(engine), visit_id, seed)
        ids.append(visit_id)
    return ids[0], ids[1]


@pytest.fixture
def fleetprof(
    database_url: str,
    archive: Archive,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command that succeeds; what it printed."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_ARCHIVE_URL", archive.url)
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["fleetprof", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert end.value.code in {0, None}, said.err
        return said.out

    return run


def days(engine: Engine) -> int:
    with engine.connect() as connection:
        return len(partitions.existing(connection))


def stacks(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(stack)).scalar_one()


@pytest.mark.slow
def test_an_operator_is_told_what_stays_and_why_and_what_went(
    engine: Engine, fleetprof: Run, old_and_new: tuple[UUID, UUID]
) -> None:
    said = fleetprof("db", "retain")
    assert "later days are kept" in said
    assert "1 visits are not in rollups yet" in said
    assert days(engine) == 2
    assert RollupWriter(engine).rollup().entries == 2
    said = fleetprof("db", "retain")
    assert "profiles dropped." in said
    assert "1 raw captures deleted." in said
    assert days(engine) == 1
    assert f"profiles from {NOW.date() - timedelta(days=35)} on" in fleetprof("db", "retain")


def test_an_operator_chooses_how_much_is_kept(
    engine: Engine, fleetprof: Run, old_and_new: tuple[UUID, UUID]
) -> None:
    RollupWriter(engine).rollup()
    assert "profiles dropped" not in fleetprof("db", "retain", "--days", "50")
    assert days(engine) == 2


def test_an_operator_sweeps_and_is_told_what_was_freed(
    engine: Engine, fleetprof: Run, old_and_new: tuple[UUID, UUID]
) -> None:
    RollupWriter(engine).rollup()
    fleetprof("db", "retain")
    before = stacks(engine)
    # Its cells are kept longer than its facts, so what the old visit used is in use.
    assert "stack: 0 rows deleted." in fleetprof("db", "sweep")
    assert stacks(engine) == before
    with engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE rollup")
    said = fleetprof("db", "sweep")
    assert "facts in" in said
    assert stacks(engine) < before
    assert f"stack: {before - stacks(engine)} rows deleted." in said
    assert is_as_ingested(engine, old_and_new[1], 2)


@pytest.mark.slow
def test_the_collector_does_both_by_itself(
    engine: Engine, database_url: str, archive: Archive, old_and_new: tuple[UUID, UUID]
) -> None:
    RollupWriter(engine).rollup()
    collector = Collector(
        open_engine(database_url, application="collector"),
        archive,
        lambda visit_id: None,
        pace=Pace(tidy_s=0.1, keep=Keep(35, 400)),
    )

    def done() -> bool:
        with engine.connect() as connection:
            swept = connection.scalar(select(dictionary_epoch.c.swept_at))
            raw = connection.scalar(select(func.count()).select_from(capture).where(capture.c.blob != ""))
            return swept is not None and raw == 1

    async def until_done() -> None:
        stop = asyncio.Event()
        running = asyncio.ensure_future(collector.run(stop))
        async with asyncio.timeout(60):
            while not done():  # noqa: ASYNC110 - what it waits for happens in the database
                await asyncio.sleep(0.05)
        stop.set()
        await running

    asyncio.run(until_done())
    collector.engine.dispose()
    with engine.connect() as connection:
        assert NOW.date() - timedelta(days=40) not in partitions.existing(connection)
