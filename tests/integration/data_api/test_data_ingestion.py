"""GIVEN captures that are ingested while data is streamed WHEN they are late THEN following brings them, and none is lost."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select, text, update

from services.data_api.streams import Streams
from storage.archive import Archive
from storage.data.cancellation import Stop
from storage.data.errors import Stopped
from storage.data.progress import horizon, settled
from storage.data.stream_position import Order, Place
from storage.data.visit_rows import read_visits
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.schema import capture
from tests.integration.data_api.conftest import NOON, bring
from tests.stream_records import captures, kinds, profiles, query, streams, visits
from tests.synthetic_captures import random_capture

pytestmark = pytest.mark.integration

DAY = "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"


def ingest_now(engine: Engine, visit_id, seed: int, generation: int = 1) -> None:
    message, resolved = random_capture(visit_id, seed, resolved_better=generation > 1)
    ingest(engine, Interner(engine), visit_id, generation, message, resolved)


def ids(records) -> list[str]:
    return [visit.visit.visit_id for visit in visits(records)]


class Following:
    """A stream that is followed; `next` waits for what comes."""

    def __init__(self, made: Streams, cursor: str = "", of: str = "profiles") -> None:
        self.stop = Stop()
        asked = query(of, DAY[0], "now", cursor=cursor, follow=True)
        self._records = getattr(made, of)(asked, self.stop)

    def visit(self):
        """The next record of a visit."""
        timer = threading.Timer(60, self.stop.set)  # only a test that fails waits for it
        timer.start()
        try:
            for record in self._records:
                if not record.HasField("progress"):
                    return record
        finally:
            timer.cancel()
        raise AssertionError("it ended")

    def begun(self) -> "Following":
        """From here on everything that is ingested comes."""
        assert kinds([next(self._records)]) == ["progress"]
        return self

    def end(self) -> None:
        self.stop.set()
        with pytest.raises(Stopped):
            list(self._records)


def test_what_ingests_late_is_told_and_followed(engine: Engine, archive: Archive):
    made = streams(engine, archive.url, poll_s=0.01)
    early, late = bring(engine, archive, [10]), bring(engine, archive, [5], ingested=False)
    first = profiles(made, *DAY)
    assert ids(first) == [str(early[0])]
    end = first[-1].progress
    assert end.waiting == 1
    assert end.complete_until.ToDatetime().minute == 5
    ingest_now(engine, late[0], 5)
    assert ids(profiles(made, *DAY, cursor=first[0].cursor)) == []  # behind the stream
    following = Following(made, end.follow_cursor)
    assert following.visit().visit.visit.visit_id == str(late[0])
    ingest_now(engine, early[0], 10, generation=2)
    again = following.visit()
    assert (again.visit.visit.visit_id, again.visit.generation) == (str(early[0]), 2)
    assert again.visit.weight == 0
    following.end()
    assert profiles(made, *DAY)[-1].progress.waiting == 0


def test_following_goes_on_by_its_cursor(engine: Engine, archive: Archive):
    made = streams(engine, archive.url, poll_s=0.01)
    bring(engine, archive, [1])
    following = Following(made).begun()
    ingested = bring(engine, archive, [4, 2, 3])
    found = [following.visit() for _ in ingested]
    assert ids(found) == list(map(str, ingested))
    following.end()
    for n, record in enumerate(found[:-1]):
        again = Following(made, record.cursor)
        assert again.visit().visit.visit.visit_id == str(ingested[n + 1])
        again.end()


def test_captures_are_followed_before_they_are_ingested(engine: Engine, archive: Archive):
    made = streams(engine, archive.url, poll_s=0.01)
    bring(engine, archive, [1])
    following = Following(made, of="captures").begun()
    contributions = bring(engine, archive, [3, 2], ingested=False)
    assert [following.visit().capture.visit.visit_id for _ in contributions] == list(map(str, contributions))
    following.end()


def test_a_ingestion_that_commits_late_is_waited_for(engine: Engine, archive: Archive):
    """Its moment is before the horizon, and it is not there yet: nobody may pass it."""
    slow, quick = bring(engine, archive, [1, 2])
    with engine.connect() as ingestion, ingestion.begin() as transaction:
        moment = text("clock_timestamp()")
        ingestion.execute(update(capture).where(capture.c.visit_id == slow).values(ingested_at=moment))
        with engine.begin() as other:
            other.execute(update(capture).where(capture.c.visit_id == quick).values(ingested_at=moment))
        with engine.connect() as reader:
            seen = horizon(reader)
        with engine.connect() as reader:
            assert not settled(reader, seen)
        transaction.commit()
    with engine.connect() as reader:
        assert settled(reader, seen)
    with engine.connect() as reader:
        found = read_visits(
            reader,
            [capture.c.ingested_at < seen.moment],
            Order.INGESTED,
            Place(NOON - timedelta(days=1)),
            limit=9,
        )
        assert [row.id for row in found] == [slow, quick]


def test_streams_see_all_of_a_fleet_that_goes_on_ingestion(engine: Engine, archive: Archive):
    """What a stream brings and what is followed from it is everything, whenever each ingests."""
    waiting = bring(engine, archive, [30, 10, 20, 40, 50, 60], ingested=False)
    made = streams(engine, archive.url, poll_s=0.01)
    ingest_now(engine, waiting[0], 30)
    begun = threading.Event()

    def go_on() -> None:
        begun.wait(60)
        for seed, visit_id in zip((10, 20, 40, 50, 60), waiting[1:], strict=True):
            ingest_now(engine, visit_id, seed)

    ingestion = threading.Thread(target=go_on)
    ingestion.start()
    found = []
    for record in made.profiles(query("profiles", *DAY), Stop()):
        begun.set()
        found.append(record)
    ingestion.join()
    assert len(set(ids(found))) == len(ids(found))
    following = Following(made, found[-1].progress.follow_cursor)
    missing = set(map(str, waiting)) - set(ids(found))
    while missing:
        missing.discard(following.visit().visit.visit.visit_id)
    following.end()


def test_a_stream_says_that_it_is_still_there(engine: Engine, archive: Archive):
    bring(engine, archive, [1])
    made = streams(engine, archive.url, poll_s=0.0, quiet_s=0.0)
    stop = Stop()
    records = made.profiles(query("profiles", DAY[0], "now", follow=True), stop)
    said = [next(records) for _ in range(3)]
    assert kinds(said) == ["progress"] * 3
    assert said[0].cursor != said[2].cursor
    stop.set()
    with pytest.raises(Stopped):
        next(records)
    assert captures(made, *DAY, select='{machine="other"}')[-1].progress.done
    with engine.connect() as connection:
        assert connection.scalar(select(capture.c.ingested)) == 1
