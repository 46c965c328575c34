"""GIVEN closed days WHEN they are exported THEN the lake has all of each or nothing, and what PostgreSQL has now."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text, update
from structlog.testing import capture_logs
from typer.testing import CliRunner

from collector.events import LakeMaintained
from collector.lake import LakeTerms, maintain_lake
from collector.run import Collector
from services.cli import app
from storage import partitions
from storage.archive import Archive
from storage.errors import DatabaseError, PartitionMissing
from storage.retention.retain import Keep
from storage.schema import capture
from storage.segments import export, ingested_days, manifest
from storage.segments.duck import Limits
from storage.segments.due_days import PATIENCE, look
from storage.segments.errors import LakeDamaged, LakeDiffers
from storage.segments.export import export_day
from storage.segments.lake_retention import retain
from storage.segments.location import Lake
from storage.segments.tables import TABLES
from storage.segments.verify import faults
from tests.answer_comparison import differences
from tests.small_lake import DAY, DAYS, LATER, WHOLE, Drawn, Store, minutes

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SOME = [Drawn(237 * n) for n in range(1, 18)]
ALL = [DAY + timedelta(days=n) for n in range(DAYS)]


@pytest.fixture
def store(store: Store) -> Store:
    store.ingest(SOME)
    return store


def waiting(store: Store, now=LATER) -> list[date]:
    with store.engine.connect() as connection:
        return list(look(connection, store.lake, now).due)


def files(store: Store) -> list[str]:
    return [key for table in TABLES for key in store.lake.keys(table)]


def test_a_day_is_due_when_it_is_over_for_48_hours_and_again_when_more_has_ingested(store: Store):
    assert waiting(store) == ALL
    assert waiting(store, LATER - timedelta(seconds=1)) == ALL[:-1]
    [first, *_] = store.export()
    assert waiting(store) == []
    store.ingest([Drawn(5)])
    assert waiting(store) == [DAY]
    [again] = store.export(0)
    assert again.ingested.captures == first.ingested.captures + 1
    assert again.facts == first.facts + 3
    with store.engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.day == ALL[1]).values(ingested=2, wanted=2))
    assert waiting(store) == [ALL[1]], "reprocessed, by better symbols"
    store.ingest([Drawn(7, seconds=None)])
    assert waiting(store) == ALL[:2], "a visit that failed changes weights"


def uningest(store: Store, day: date, **values: Any) -> None:
    """Have the day's captures wait, as they do while there is no worker."""
    with store.engine.begin() as connection:
        waits = {"ingested": 0, "ingested_at": None, **values}
        connection.execute(update(capture).where(capture.c.day == day).values(waits))


class TestADayWhoseCapturesWait:
    CLOSED = LATER - timedelta(days=2)
    """The first of the days is, at this moment."""

    def test_is_exported_when_they_are_ingested(self, store: Store):
        uningest(store, DAY)
        assert waiting(store) == ALL[1:]
        uningest(store, DAY, ingested=1)
        assert waiting(store) == ALL

    def test_waits_too_where_it_is_in_the_lake_and_more_came(self, store: Store):
        store.export()
        store.ingest([Drawn(5)])
        assert waiting(store) == [DAY]
        with store.engine.begin() as connection:
            connection.execute(
                update(capture).where(capture.c.day == DAY).values(wanted=2)  # to be reprocessed
            )
        assert waiting(store) == [DAY], "there is no end of better symbols"
        store.ingest([Drawn(6)])
        with store.engine.begin() as connection:
            last = select(capture.c.visit_id).order_by(capture.c.archived_at.desc()).limit(1)
            connection.execute(
                update(capture).where(capture.c.visit_id == last.scalar_subquery()).values(ingested=0)
            )
        assert waiting(store) == []

    def test_is_exported_without_them_after_some_days(self, store: Store):
        uningest(store, DAY)
        assert DAY not in waiting(store, self.CLOSED + PATIENCE - timedelta(seconds=1))
        assert DAY in waiting(store, self.CLOSED + PATIENCE)

    @pytest.mark.parametrize(("facts_days", "waits_days"), [(35, 5), (8, 5), (7, 4), (5, 2), (3, 0), (1, 0)])
    def test_is_exported_before_postgresql_drops_it(self, store: Store, facts_days: int, waits_days: int):
        uningest(store, DAY)

        def due(at: datetime) -> bool:
            with store.engine.connect() as connection:
                return DAY in look(connection, store.lake, at, facts_days).due

        ends = self.CLOSED + timedelta(days=waits_days)
        assert due(ends)
        assert not due(ends - timedelta(seconds=1))
        if facts_days > 2:
            assert Keep(facts_days, 400).facts_horizon(ends.date()) <= DAY, "it is there then"

    def test_does_not_wait_for_those_that_were_quarantined(self, store: Store):
        uningest(store, DAY, quarantined="It Cannot read.")
        assert waiting(store) == ALL


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
    totals = ingested_days.totals
    monkeypatch.setattr(export.ingested_days, "totals", lambda connection, day: totals(connection, day)[1:])
    with pytest.raises(LakeDiffers, match="in the files, but not in PostgreSQL"):
        store.export(0)
    assert manifest.read(store.lake, DAY) == before
    assert files(store) == there


@pytest.mark.parametrize("table", ["samples", "functions"])
def test_a_damaged_day_is_found_and_mended(store: Store, table: str):
    [made] = store.export(0)
    path = Path(store.lake.path(made.keys(table)[0]))
    path.write_bytes(path.read_bytes()[:-9])
    assert faults(store.lake, made) == [f"{made.keys(table)[0]} differs from what was written."]
    [mended] = store.export(0)
    assert not faults(store.lake, mended)


def test_files_of_another_day_are_no_substitute(store: Store):
    store.ingest([Drawn(5)])
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
    assert (made.facts, made.totals, made.ingested.visits) == (0, (), 0)


class TestTheCollector:
    @pytest.fixture
    def terms(self, store: Store) -> LakeTerms:
        return LakeTerms(store.lake, keep_days=36_500, limits=Limits())

    def test_exports_what_is_due_and_drops_what_is_old(self, store: Store, terms: LakeTerms):
        maintain_lake(store.engine, terms, LATER, lambda: False)
        assert manifest.days(store.lake) == ALL
        with capture_logs() as said:
            maintain_lake(store.engine, LakeTerms(store.lake, 4, Limits()), LATER, lambda: False)
        assert manifest.days(store.lake) == ALL[1:]
        assert [entry["event"] for entry in said] == ["day deleted from the lake"]
        with capture_logs() as said:
            maintain_lake(store.engine, LakeTerms(store.lake, 4, Limits()), LATER, lambda: False)
        assert said == [], "what the lake would not keep is not exported again"

    def test_leaves_days_whose_captures_wait_for_later(self, store: Store, terms: LakeTerms):
        uningest(store, DAY)
        events: list[LakeMaintained] = []
        with capture_logs() as said:
            maintain_lake(store.engine, terms, LATER, lambda: False, events.append)
        assert manifest.days(store.lake) == ALL[1:]
        told = [entry for entry in said if entry["event"] == "a day is not exported yet"]
        assert [entry["day"] for entry in told] == [str(DAY)]
        assert "captures of 2026-11-10 are not ingested yet" in told[0]["why"]
        assert events[-1] == LakeMaintained(due=1, kept=0, whole=True)

    def test_does_so_in_its_beat(self, store: Store, terms: LakeTerms):
        async def work() -> None:
            stop = asyncio.Event()

            def once(now: datetime, stopping: Callable[[], bool]) -> None:
                maintain_lake(store.engine, terms, now, stopping)
                loop.call_soon_threadsafe(stop.set)

            loop = asyncio.get_running_loop()
            collector = Collector(
                store.engine, Archive(f"{store.lake.root}-archive"), lambda _: None, lake_job=once
            )
            await collector.run(stop)

        asyncio.run(work())
        assert manifest.days(store.lake) == ALL

    def test_ends_between_batches(self, store: Store, terms: LakeTerms):
        asked = iter([False, True])
        maintain_lake(store.engine, terms, LATER, lambda: next(asked))
        assert manifest.days(store.lake) == []

    def test_goes_on_without_its_lake(self, store: Store, tmp_path: Path):
        (tmp_path / "file").write_text("")
        terms = LakeTerms(Lake(str(tmp_path / "file" / "lake")), 36_500, Limits())
        with capture_logs() as said:
            maintain_lake(store.engine, terms, LATER, lambda: False)
        assert [entry["log_level"] for entry in said] == ["error"]

    def test_waits_for_its_database(self, store: Store, terms: LakeTerms, monkeypatch: pytest.MonkeyPatch):
        def away(*_):
            raise DatabaseError("away")

        monkeypatch.setattr("collector.lake.look", away)
        with pytest.raises(DatabaseError):
            maintain_lake(store.engine, terms, LATER, lambda: False)


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
    store.ingest([Drawn(5)])
    monkeypatch.setattr("storage.segments.due_days.PATIENCE", timedelta(days=36_500))
    monkeypatch.setenv("FLEETPROF_RETENTION_DAYS", "36500")
    uningest(store, DAY)
    store.lake.delete(manifest.key_of(DAY))
    for words in (("lake", "status"), ("lake", "export")):
        told = run(*words)
        assert "captures of 2026-11-10 are not ingested yet. The day is exported when they are" in told
        assert "Every closed day" not in told
    uningest(store, DAY, ingested=1)
    run("lake", "export")
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
    assert not differences(json.loads(run(*words, "duckdb"))["rows"], found["rows"])
    Path(store.lake.path(manifest.key_of(DAY))).write_text("{")
    result = CliRunner().invoke(app, ["lake", "verify"])
    assert result.exit_code == 1
    assert "Cannot read" in result.output
