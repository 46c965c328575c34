"""Captures: recorded once, leased to one worker at a time, and tried again until they are quarantined."""

import hashlib
import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select, text

from storage import captures, leases
from storage.archive import capture_key
from storage.captures import NewCapture
from storage.errors import UnknownVisit, VisitEnded
from storage.leases import Lease
from storage.schema import Outcome, capture
from tests.integration.storage.recorded import (
    NOON,
    archived,
    described,
    draw,
    due,
    finish,
    ingest,
    lease,
    quarantine_reason,
    wake,
)

pytestmark = pytest.mark.integration


class TestRecord:
    def test_recording_twice_is_recording_once(self, engine):
        (visit_id,) = draw(engine)
        with engine.begin() as connection:
            assert captures.record(connection, described(visit_id))
            assert not captures.record(connection, described(visit_id))
            finish(connection, visit_id, Outcome.ANSWERED)
            assert not captures.record(connection, described(visit_id))
        assert due(engine) == [(visit_id, 1)]

    def test_a_capture_is_its_visits(self, engine):
        (visit_id,) = draw(engine)
        with engine.begin() as connection:
            with pytest.raises(UnknownVisit):
                captures.record(connection, described(uuid4()))
            finish(connection, visit_id, Outcome.TIMEOUT)
            with pytest.raises(VisitEnded, match="timeout"):
                captures.record(connection, described(visit_id))

    def test_the_day_is_the_visits(self, engine):
        (visit_id,) = draw(engine)
        other_day = NewCapture(visit_id, NOON.date() + timedelta(days=1), "captures/x", 1, 1, b"", 0)
        with engine.begin() as connection, pytest.raises(ValueError, match="2026-11-21"):
            captures.record(connection, other_day)


class TestLease:
    def test_says_what_to_ingest(self, engine):
        (visit_id,) = archived(engine)
        held = lease(engine, visit_id)
        with engine.connect() as connection:
            archived_at = connection.scalar(select(capture.c.archived_at))
        assert held == Lease(
            visit_id=visit_id,
            day=NOON.date(),
            generation=1,
            blob=capture_key(NOON.date(), visit_id),
            sha256=hashlib.sha256(b"blob").digest(),
            bytes=4,
            raw_bytes=100,
            attempt=1,
            partition=0,
            archived_at=archived_at,
            again=False,
        )

    def test_one_worker_at_a_time(self, engine):
        (visit_id,) = archived(engine)
        assert lease(engine, visit_id) is not None
        assert lease(engine, visit_id) is None
        assert due(engine) == []
        wake(engine, visit_id)
        assert due(engine) == [(visit_id, 1)]
        second = lease(engine, visit_id)
        assert second is not None
        assert second.attempt == 2

    def test_nothing_to_do_once_ingested_or_unknown(self, engine):
        (visit_id,) = archived(engine)
        ingest(engine, visit_id, 1)
        assert lease(engine, visit_id) is None
        assert lease(engine, uuid4()) is None
        assert due(engine) == []

    def test_many_workers_never_hold_one_capture_together(self, engine):
        """Eight workers race for few captures again and again; each lease is exclusive while it is held."""
        ids = archived(engine, 3)
        held: set[UUID] = set()
        guard = threading.Lock()
        clashes, leases = [], []

        def work(number: int) -> None:
            for turn in range(25):
                visit_id = ids[(number + turn) % len(ids)]
                mine = lease(engine, visit_id, limit=10_000)
                if mine is None:
                    continue
                with guard:
                    if visit_id in held:
                        clashes.append(visit_id)
                    held.add(visit_id)
                    leases.append(mine)
                with guard:
                    held.discard(visit_id)
                wake(engine, visit_id)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert clashes == []
        assert len({(mine.visit_id, mine.attempt) for mine in leases}) == len(leases) >= 3

    def test_a_waiting_transaction_sees_the_lease_it_waited_for(self, engine):
        (visit_id,) = archived(engine)
        got = []
        with engine.begin() as first:
            assert leases.lease(first, visit_id, seconds=60, attempts_limit=5)
            waiter = threading.Thread(target=lambda: got.append(lease(engine, visit_id)))
            waiter.start()
            wait_until_someone_waits(engine)
        waiter.join(30)
        assert got == [None]


class TestFailures:
    def test_rests_double_and_end_at_an_hour(self, engine):
        (visit_id,) = archived(engine)
        rests = []
        for _ in range(12):
            wake(engine, visit_id)
            assert lease(engine, visit_id, limit=100)
            with engine.begin() as connection:
                leases.release(connection, visit_id, why="no symbols server")
                rest = connection.scalar(select(capture.c.leased_until - func.clock_timestamp()))
            assert due(engine) == []
            rests.append(round(rest.total_seconds()))
        assert rests == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]

    def test_after_the_last_attempt_it_is_quarantined_with_the_reason(self, engine):
        (visit_id,) = archived(engine)
        for _ in range(2):
            wake(engine, visit_id)
            assert lease(engine, visit_id, limit=2)
            with engine.begin() as connection:
                leases.release(connection, visit_id, why="truncated\0 frame")
        assert quarantine_reason(engine, visit_id) is None
        wake(engine, visit_id)
        assert lease(engine, visit_id, limit=2) is None
        assert quarantine_reason(engine, visit_id) == "truncated frame"
        assert due(engine) == []

    def test_a_capture_that_kills_its_workers_ends_too(self, engine):
        (visit_id,) = archived(engine)
        for _ in range(3):
            lease(engine, visit_id, limit=3)
            wake(engine, visit_id)
        assert lease(engine, visit_id, limit=3) is None
        assert quarantine_reason(engine, visit_id) == (
            "Every worker that tried it ended without reporting a result."
        )

    def test_who_holds_it_can_hold_it_longer_and_nobody_else(self, engine):
        (visit_id,) = archived(engine)
        first = lease(engine, visit_id, seconds=30)
        assert first is not None

        def renewed(held) -> bool:
            with engine.begin() as connection:
                return leases.renew(connection, held, seconds=3600)

        assert renewed(first)
        with engine.connect() as connection:
            left = connection.scalar(select(capture.c.leased_until - func.clock_timestamp()))
        assert left > timedelta(minutes=50)
        wake(engine, visit_id)
        assert not renewed(first), "it ran out, or rests after a failure"
        second = lease(engine, visit_id)
        assert not renewed(first), "it is another's"
        assert renewed(second)

    def test_a_failure_that_is_not_the_captures_is_no_attempt(self, engine):
        (visit_id,) = archived(engine)
        for _ in range(5):
            wake(engine, visit_id)
            found = lease(engine, visit_id, limit=2)
            assert found is not None
            assert due(engine) == []
            with engine.begin() as connection:
                leases.release(connection, visit_id, why="no disk", attempt=found.attempt, counts=False)
            assert due(engine) == [], "it rests"
        assert quarantine_reason(engine, visit_id) is None

    def test_a_late_release_leaves_the_next_workers_lease_alone(self, engine):
        (visit_id,) = archived(engine)
        first = lease(engine, visit_id)
        wake(engine, visit_id)
        second = lease(engine, visit_id, seconds=3600)
        assert first is not None
        assert second is not None
        with engine.begin() as connection:
            leases.release(connection, visit_id, why="too slow", attempt=first.attempt)
            row = connection.execute(select(capture.c.failure, capture.c.leased_until - func.now())).one()
        assert row[0] == ""
        assert row[1] > timedelta(minutes=50)

    def test_what_was_quarantined_can_be_wanted_again(self, engine):
        (visit_id,) = archived(engine)
        with engine.begin() as connection:
            captures.quarantined(connection, visit_id, "not a capture")
        assert due(engine) == []
        with engine.begin() as connection:
            assert captures.want_again(connection, [visit_id, uuid4()]) == 1
        assert due(engine) == [(visit_id, 2)]
        held = lease(engine, visit_id, limit=1)
        assert held is not None
        assert (held.generation, held.attempt) == (2, 1)

    def test_wanting_a_ingested_capture_again_asks_for_the_next_generation(self, engine):
        (visit_id,) = archived(engine)
        ingest(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, [visit_id])
        assert due(engine) == [(visit_id, 2)]


def wait_until_someone_waits(engine: Engine) -> None:
    """Return once a connection of this database waits for a lock."""
    deadline = datetime.now(UTC) + timedelta(seconds=30)
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while datetime.now(UTC) < deadline:
        with engine.connect() as connection:
            if connection.scalar(waiting):
                return
    raise AssertionError("nobody waits")
