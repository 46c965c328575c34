"""GIVEN captures and facts that are gone or damaged WHEN they are streamed THEN each is told, and the rest comes."""

from datetime import UTC, date, datetime

import pytest
from sqlalchemy import Engine, delete, select, update

from fleetpb import data_pb2
from storage import partitions
from storage.archive import Archive
from storage.data import visit_stream
from storage.data.cancellation import Stop
from storage.retention.raw import drop_captures
from storage.schema import capture, chunk, profile
from tests.integration.data_api.conftest import bring
from tests.stream_records import captures, facts, profiles, query, streams, visits

pytestmark = pytest.mark.integration

DAYS = "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"
TOMORROW = 24 * 60


def statuses(records) -> list[str]:
    contents = [getattr(record, record.WhichOneof("content")) for record in records]
    return [data_pb2.RecordStatus.Name(content.status) for content in contents if hasattr(content, "status")]


def test_facts_that_are_dropped_between_two_records(engine: Engine, archive: Archive, monkeypatch):
    bring(engine, archive, [1, 2, 3, TOMORROW])
    monkeypatch.setattr(visit_stream, "PAGE_VISITS", 1)
    records = streams(engine).profiles(query("profiles", *DAYS), Stop())
    found = [next(records)]
    with engine.begin() as connection:
        partitions.drop(connection, date(2026, 11, 21))
    found += records
    assert statuses(found) == ["RECORD_OK", "RECORD_EXPIRED", "RECORD_EXPIRED", "RECORD_OK"]
    assert [visit.weight > 0 for visit in visits(found)] == [True, False, False, True]
    again = profiles(streams(engine), *DAYS)
    assert statuses(again) == ["RECORD_EXPIRED"] * 3 + ["RECORD_OK"]
    assert [record.design.day for record in again if record.HasField("design")] == ["2026-11-21"]


def test_captures_that_are_dropped_lost_and_damaged(engine: Engine, archive: Archive):
    first, second, third, fourth, last = bring(engine, archive, [1, 2, 3, 4, TOMORROW])
    with engine.connect() as connection:
        blob = dict(connection.execute(select(capture.c.visit_id, capture.c.blob)).all())
    whole = captures(streams(engine, archive.url), *DAYS)
    assert statuses(whole) == ["RECORD_OK"] * 5
    assert [archive.get(blob[id_]) for id_ in (first, second, third, fourth, last)] == [
        record.capture.capture for record in whole[:-1]
    ]
    archive.delete(blob[second])
    archive.put(blob[third], b"another")
    archive.put(blob[fourth], b"x" * 1_000_000)
    assert statuses(captures(streams(engine, archive.url), *DAYS)) == [
        "RECORD_OK",
        "RECORD_MISSING",
        "RECORD_CORRUPT",
        "RECORD_CORRUPT",
        "RECORD_OK",
    ]
    with engine.begin() as connection:
        drop_captures(connection, archive, date(2026, 11, 21))
    assert statuses(captures(streams(engine, archive.url), *DAYS)) == ["RECORD_EXPIRED"] * 4 + ["RECORD_OK"]


def test_retention_between_the_row_and_the_blob(engine: Engine, archive: Archive):
    bring(engine, archive, [1, 2])
    records = streams(engine, archive.url).captures(query("captures", *DAYS), Stop())
    found = [next(records)]
    with engine.begin() as connection:
        drop_captures(connection, archive, date(2026, 11, 21))
    found += records
    assert statuses(found) == ["RECORD_OK", "RECORD_EXPIRED"]


def test_a_damaged_chunk_costs_its_visit_only(engine: Engine, archive: Archive):
    damaged, _ = bring(engine, archive, [1, 2])
    before = [facts(visit) for visit in visits(profiles(streams(engine), *DAYS))]
    with engine.begin() as connection:
        of = select(profile.c.profile_id).where(profile.c.visit_id == damaged).limit(1).scalar_subquery()
        connection.execute(update(chunk).where(chunk.c.profile_id == of).values(data=b"\x01damaged"))
    found = profiles(streams(engine), *DAYS)
    assert statuses(found) == ["RECORD_CORRUPT", "RECORD_OK"]
    assert [facts(visit) for visit in visits(found)][1] == before[1]
    assert "damaged" in visits(found)[0].detail


def test_what_is_too_large_comes_without_its_content(engine: Engine, archive: Archive):
    bring(engine, archive, [1])
    (visit,) = visits(profiles(streams(engine), *DAYS, size=1024))
    assert visit.status == data_pb2.RECORD_TOO_LARGE
    assert (visit.size > 1024, list(visit.profiles), list(visit.strings)) == (True, [], [""])
    assert visit.ByteSize() < 1000
    (record, _) = captures(streams(engine, archive.url), *DAYS, size=1024)
    assert (record.capture.status, record.capture.capture) == (data_pb2.RECORD_TOO_LARGE, b"")
    assert record.capture.size > 0


def test_labels_choose_captures_of_visits_that_ingested_them(engine: Engine, archive: Archive):
    bring(engine, archive, [1, 2])
    bring(engine, archive, [3], ingested=False)
    made = streams(engine, archive.url)

    def chosen(select_: str) -> int:
        return sum(record.HasField("capture") for record in captures(made, *DAYS, select=select_))

    assert chosen("{}") == chosen('{machine="m"}') == chosen('{machine=~"m|n",datacenter=""}') == 3
    assert chosen('{application="app1"}') == chosen('{application="app1",machine!="x"}') == 2
    assert chosen('{machine!~"m"}') == chosen('{application="nobody"}') == chosen('{cluster="x"}') == 0


def test_an_archive_that_is_away_ends_the_stream(engine: Engine, tmp_path):
    from storage.errors import ArchiveUnavailable

    bring(engine, Archive(str(tmp_path / "there")), [1])
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ArchiveUnavailable):
        captures(streams(engine, str(tmp_path / "file")), *DAYS)


def test_by_hand_visits_weigh_nothing(engine: Engine, archive: Archive):
    from storage.schema import visit as table

    by_hand, _ = bring(engine, archive, [1, 2])
    with engine.begin() as connection:
        connection.execute(update(table).where(table.c.visit_id == by_hand).values(round=-1))
    found = visits(profiles(streams(engine), *DAYS))
    assert [(v.visit.by_hand, v.weight > 0) for v in found] == [(True, False), (False, True)]


@pytest.mark.parametrize("moment", [datetime(2027, 1, 1, tzinfo=UTC)])
def test_what_has_not_begun_is_refused(engine: Engine, moment):
    from storage.errors import BadSelection

    with pytest.raises(BadSelection, match="begins in the future"):
        profiles(streams(engine), "2126-01-01T00:00:00Z", "2127-01-01T00:00:00Z")
    assert profiles(streams(engine), "2026-01-01T00:00:00Z", "2127-01-01T00:00:00Z")[-1].progress.done
    with engine.begin() as connection:
        assert connection.execute(delete(capture)).rowcount == 0
