"""GIVEN closed days WHEN they are exported THEN the lake has all of each or nothing, and what PostgreSQL has now."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text, update
from structlog.testing import capture_logs
from typer.testing import CliRunner

from collector.lake import LakeTerms, tend
from collector.run import Collector
from services.cli import app
from storage import partitions
from storage.archive import Archive
from storage.errors import DatabaseError, PartitionMissing
from storage.lake import export, landed, manifest
from storage.lake.duck import Limits
from storage.lake.errors import LakeDamaged, LakeDiffers
from storage.lake.export import export_day
from storage.lake.place import Lake
from storage.lake.retain import retain
from storage.lake.tables import TABLES
from storage.lake.verify import faults
from storage.lake.waiting import look
from storage.schema import capture
from tests.lakes import DAY, DAYS, LATER, WHOLE, Drawn, Store, minutes

pytestmark = pytest.mark.integration

SOME = [Drawn(237 * n) for n in range(1, 18)]
ALL = [DAY + timedelta(days=n) for n in range(DAYS)]


@pytest.fixture
def store(store: Store) -> Store:
    store.land(SOME)
    return store


def waiting(store: Store, now=LATER) -> list[date]:
    with store.engine.connect() as connection:
        return list(look(connection, store.lake, now).due)


def files(store: Store) -> list[str]:
    return [key for table in TABLES for key in store.lake.keys(table)]


def test_a_day_is_due_when_it_is_over_for_48_hours_and_again_when_more_has_landed(store: Store):
    assert waiting(store) == ALL
    assert waiting(store, LATER - timedelta(seconds=1)) == ALL[:-1]
    [first, *_] = store.export()
    assert waiting(store) == []
    store.land([Drawn(5)])
    assert waiting(store) == [DAY]
    [again] = store.export(0)
    assert again.landed.captures == first.landed.captures + 1
    assert again.facts == first.facts + 3
    with store.engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.day == ALL[1]).values(landed=2, wanted=2))
    assert waiting(store) == [ALL[1]], "landed again, by better symbols"
    store.land([Drawn(7, seconds=None)])
    assert waiting(store) == ALL[:2], "a visit that failed changes weights"


def test_all_that_counts_are_the_files_of_the_last_export(store: Store):
    for _ in range(2):
        made = store.export()
    assert sorted(files(store)) == sorted(key for day in made for table in TABLES for key in day.keys(table))
    assert made[0].totals
    assert not [fault for day in made for fault in faults(store.lake, day)]


def test_a_broken_off_export_leaves_what_was_there(store: Store):
    class Broken(Exception):
        pass

    def breaks(_: int) -> None:
        raise Broken

    before = None
    for _ in range(2):
        with pytest.raises(Broken):
            export_day(store.engine, store.lake, DAY, on_facts=breaks)
        assert manifest.read(store.lake, DAY) == before
        [before] = store.export(0)
    store.lake.put(
        f"samples/day={DAY}/20261110T000000000000Z-00000000-00000.parquet", b"left by one that was killed"
    )
    left = len(files(store))
    [made] = store.export(0)
    assert not faults(store.lake, made)
    assert len(files(store)) < left, "what others left is gone"


def test_what_does_not_add_up_never_counts(store: Store, monkeypatch: pytest.MonkeyPatch):
    [before] = store.export(0)
    there = files(store)
    totals = landed.totals
    monkeypatch.setattr(export.landed, "totals", lambda connection, day: totals(connection, day)[1:])
    with pytest.raises(LakeDiffers, match="in the files, not in PostgreSQL"):
        store.export(0)
    assert manifest.read(store.lake, DAY) == before
    assert files(store) == there


@pytest.mark.parametrize("table", ["samples", "functions"])
def test_a_damaged_day_is_found_and_mended(store: Store, table: str):
    [made] = store.export(0)
    path = Path(store.lake.path(made.keys(table)[0]))
    path.write_bytes(path.read_bytes()[:-9])
    assert faults(store.lake, made) == [f"{made.keys(table)[0]} is not what was written."]
    [mended] = store.export(0)
    assert not faults(store.lake, mended)


def test_files_of_another_day_are_no_substitute(store: Store):
    store.land([Drawn(5)])
    first, second, _ = store.export()
    for table in ("samples", "functions"):
        path = Path(store.lake.path(first.keys(table)[0]))
        path.write_bytes(Path(store.lake.path(second.keys(table)[0])).read_bytes())
    assert faults(store.lake, first)


def test_a_damaged_manifest_is_said_and_its_day_is_due(store: Store):
    store.export()
    Path(store.lake.path(manifest.key_of(DAY))).write_text("{")
    with pytest.raises(LakeDamaged):
        manifest.read(store.lake, DAY)
    assert waiting(store) == [DAY]
    store.export(0)
    assert waiting(store) == []


def test_two_exporters_of_a_day_exclude_each_other(store: Store):
    with store.engine.connect() as other:
        number = (DAY - date(1970, 1, 1)).days
        other.execute(text("SELECT pg_advisory_lock(:class, :day)"), {"class": export._LOCK, "day": number})
        assert export_day(store.engine, store.lake, DAY) is None
        assert export_day(store.engine, store.lake, ALL[1]) is not None
        other.invalidate()
    assert export_day(store.engine, store.lake, DAY) is not None


def test_a_day_postgresql_has_dropped_stays_in_the_lake(store: Store):
    [first, *_] = store.export()
    with store.engine.begin() as connection:
        partitions.drop(connection, ALL[1])
    assert waiting(store) == []
    with pytest.raises(PartitionMissing):
        export_day(store.engine, store.lake, DAY)
    assert manifest.read(store.lake, DAY) == first
    assert not faults(store.lake, first)


def test_old_days_go_whole(store: Store):
    store.export()
    assert retain(store.lake, ALL[2]) == ALL[:2]
    assert manifest.days(store.lake) == ALL[2:]
    assert all(f"day={ALL[2]}" in key for key in files(store))
    assert retain(store.lake, ALL[2]) == []


def test_a_day_without_visits_is_known_to_have_none(engine: Engine, tmp_path: Path):
    with closing(Store(engine, Lake(str(tmp_path / "lake"))).postgres):
        made = export_day(engine, Lake(str(tmp_path / "lake")), DAY)
    assert made is not None
    assert (made.facts, made.totals, made.landed.visits) == (0, (), 0)


class TestTheCollector:
    @pytest.fixture
    def terms(self, store: Store) -> LakeTerms:
        return LakeTerms(store.lake, keep_days=36_500, limits=Limits())

    def test_exports_what_is_due_and_drops_what_is_old(self, store: Store, terms: LakeTerms):
        tend(store.engine, terms, LATER, lambda: False)
        assert manifest.days(store.lake) == ALL
        with capture_logs() as said:
            tend(store.engine, LakeTerms(store.lake, 4, Limits()), LATER, lambda: False)
        assert manifest.days(store.lake) == ALL[1:]
        assert [entry["event"] for entry in said] == ["day deleted from the lake"]
        with capture_logs() as said:
            tend(store.engine, LakeTerms(store.lake, 4, Limits()), LATER, lambda: False)
        assert said == [], "what the lake would not keep is not exported again"

    def test_does_so_in_its_beat(self, store: Store, terms: LakeTerms):
        async def work() -> None:
            stop = asyncio.Event()

            def once(now: datetime, stopping: Callable[[], bool]) -> None:
                tend(store.engine, terms, now, stopping)
                loop.call_soon_threadsafe(stop.set)

            loop = asyncio.get_running_loop()
            collector = Collector(
                store.engine, Archive(f"{store.lake.root}-archive"), lambda _: None, tend_lake=once
            )
            await collector.run(stop)

        asyncio.run(work())
        assert manifest.days(store.lake) == ALL

    def test_ends_between_batches(self, store: Store, terms: LakeTerms):
        asked = iter([False, True])
        tend(store.engine, terms, LATER, lambda: next(asked))
        assert manifest.days(store.lake) == []

    def test_goes_on_without_its_lake(self, store: Store, tmp_path: Path):
        (tmp_path / "file").write_text("")
        terms = LakeTerms(Lake(str(tmp_path / "file" / "lake")), 36_500, Limits())
        with capture_logs() as said:
            tend(store.engine, terms, LATER, lambda: False)
        assert [entry["log_level"] for entry in said] == ["error"]

    def test_waits_for_its_database(self, store: Store, terms: LakeTerms, monkeypatch: pytest.MonkeyPatch):
        def away(*_):
            raise DatabaseError("away")

        monkeypatch.setattr("collector.lake.look", away)
        with pytest.raises(DatabaseError):
            tend(store.engine, terms, LATER, lambda: False)


def test_the_command_exports_lists_checks_and_asks(
    store: Store, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    for name, value in (
        ("DATABASE_URL", database_url), ("LAKE_URL", store.lake.root), ("STATE_DIR", f"{store.lake.root}-state")
    ):  # fmt: skip
        monkeypatch.setenv(f"FLEETPROF_{name}", value)

    def run(*words: str) -> str:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "facts" in run("lake", "export", "--to", "2026-11-11")
    assert manifest.days(store.lake) == ALL[:2]
    run("lake", "export")
    assert manifest.days(store.lake) == ALL
    assert "Every closed day is in the lake" in run("lake", "export")
    assert "2026-11-11" in run("lake", "status")
    assert run("lake", "verify").count("complete") == DAYS
    for path in run("lake", "files", "samples").splitlines():
        assert Path(path).is_file()
    asked = minutes(0, WHOLE)
    words = ("query", "--json", "--from", asked.start.isoformat(), "--to", asked.end.isoformat(), "--engine")
    wanted, found = (json.loads(run(*words, engine)) for engine in ("postgres", "duckdb"))
    assert [row["key"] for row in found["rows"]] == [row["key"] for row in wanted["rows"]]
    assert found["totals"]["units"] == wanted["totals"]["units"] > 0
    assert found["lake"] == {"days": list(map(str, ALL)), "missing": []}
    monkeypatch.delenv("FLEETPROF_DATABASE_URL")
    assert "2026-11-11" in run("lake", "status"), "the lake needs no database"
    assert json.loads(run(*words, "duckdb"))["rows"] == found["rows"]
    Path(store.lake.path(manifest.key_of(DAY))).write_text("{")
    result = CliRunner().invoke(app, ["lake", "verify"])
    assert result.exit_code == 1
    assert "cannot be read" in result.output
