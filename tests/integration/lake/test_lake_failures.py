"""GIVEN a day that cannot be exported WHEN the collector tends its lake THEN the other days, and sampling, go on."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from collector.events import LakeMaintained
from collector.lake import LakeTerms, maintain_lake
from storage import partitions
from storage.segments import export, manifest, verify
from storage.segments.duck import Limits
from storage.segments.due_days import look
from storage.segments.errors import LakeBusy, LakeUnavailable
from storage.segments.export import export_day
from storage.segments.lake_retention import retain
from storage.segments.tables import TABLES
from storage.segments.verify import faults
from tests.small_lake import DAY, DAYS, LATER, Drawn, Store

pytestmark = pytest.mark.integration

ALL = [DAY + timedelta(days=n) for n in range(DAYS)]


@pytest.fixture
def store(store: Store) -> Store:
    store.ingest([Drawn(237 * n) for n in range(1, 18)])
    return store


@pytest.fixture
def terms(store: Store) -> LakeTerms:
    return LakeTerms(store.lake, keep_days=36_500, limits=Limits())


def files(store: Store) -> list[str]:
    return [key for table in TABLES for key in store.lake.keys(table)]


def damage(store: Store, day: date) -> None:
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE chunk SET data = '\\x00' WHERE day = :day"), {"day": day})


@pytest.mark.slow
def test_a_day_that_cannot_be_read_stops_no_other_and_leaves_nothing(store: Store, terms: LakeTerms):
    damage(store, DAY)
    events: list[LakeMaintained] = []
    with capture_logs() as said:
        maintain_lake(store.engine, terms, LATER, lambda: False, events.append)
    assert [line["day"] for line in said if line["log_level"] == "error"] == [str(DAY)]
    assert manifest.days(store.lake) == ALL[1:]
    assert not [key for key in files(store) if f"day={DAY}" in key]
    assert events[0] == LakeMaintained(due=3, kept=0, whole=False)
    assert events[-1] == LakeMaintained(due=1, kept=0, whole=False)


@pytest.mark.slow
def test_old_days_go_though_another_cannot_be_exported(store: Store):
    store.export(0)
    damage(store, ALL[2])
    keep = LakeTerms(store.lake, keep_days=(LATER.date() - ALL[1]).days, limits=Limits())
    with capture_logs():
        maintain_lake(store.engine, keep, LATER, lambda: False)
    assert manifest.days(store.lake) == [ALL[1]]


def test_a_day_dropped_meanwhile_is_no_failure(
    store: Store, terms: LakeTerms, monkeypatch: pytest.MonkeyPatch
):
    def then_drop(*args):
        found = look(*args)
        with store.engine.begin() as connection:
            partitions.drop(connection, ALL[1])
        return found

    monkeypatch.setattr("collector.lake.look", then_drop)
    events: list[LakeMaintained] = []
    maintain_lake(store.engine, terms, LATER, lambda: False, events.append)
    assert manifest.days(store.lake) == ALL[1:]
    assert events[-1] == LakeMaintained(due=0, kept=0, whole=True)


def test_files_of_a_manifest_that_was_put_after_all_stay(store: Store, monkeypatch: pytest.MonkeyPatch):
    write = manifest.write

    def put_and_lose_the_answer(lake, made):
        write(lake, made)
        raise LakeUnavailable("The connection broke.")

    monkeypatch.setattr(export.manifest, "write", put_and_lose_the_answer)
    with pytest.raises(LakeUnavailable):
        export_day(store.engine, store.lake, DAY)
    assert not faults(store.lake, manifest.read(store.lake, DAY))


def test_what_killed_exports_left_of_old_days_goes(store: Store):
    left = f"samples/day={DAY}/20261110T000000000000Z-00000000-00000.parquet"
    store.lake.put(left, b"left")
    assert retain(store.lake, ALL[1]) == []
    assert left not in files(store)


def test_the_check_of_a_day_has_no_limit_and_ends_when_told(store: Store):
    hurried = Limits(timeout_s=1e-6)
    made = export_day(store.engine, store.lake, DAY, limits=hurried)
    assert made is not None
    with pytest.raises(LakeBusy):
        faults(store.lake, made, stopping=lambda: True)


def test_a_check_that_is_stopped_leaves_nothing(
    store: Store, terms: LakeTerms, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def stopping() -> bool:
        return bool(asked)

    def checked(*args):
        asked.append(True)
        return verify.faults(*args)

    monkeypatch.setattr(export, "faults", checked)
    with capture_logs() as said:
        maintain_lake(store.engine, terms, LATER, stopping)
    assert said == []
    assert files(store) == []


@pytest.mark.slow
def test_a_flipped_byte_and_a_lost_file_are_found(store: Store):
    [made] = store.export(0)
    for table in TABLES:
        path = Path(store.lake.path(made.keys(table)[0]))
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[8] ^= 0x41
        path.write_bytes(flipped)
        assert faults(store.lake, made) == [f"{made.keys(table)[0]} differs from what was written."]
        path.unlink()
        assert faults(store.lake, made) == [f"{made.keys(table)[0]} is missing."]
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("writer", "missing"),
    [
        ("write_values", "labels of profiles"),
        ("write_label_sets", "label sets of profiles"),
        ("write_machines", "machines of profiles"),
    ],
)
def test_names_that_are_not_there_are_found(
    store: Store, monkeypatch: pytest.MonkeyPatch, writer: str, missing: str
):
    store.ingest([Drawn(9, groups=(("nginx", "red", (3, 2, 0, 1, 0, 0)),))])
    monkeypatch.setattr(export.export_dictionaries, writer, lambda *_: None)
    with pytest.raises(export.LakeDiffers, match=missing):
        store.export(0)
    assert files(store) == []
