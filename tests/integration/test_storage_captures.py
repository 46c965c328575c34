"""Captures: recorded once, leased to one worker at a time, tried again, and never lost to a sweep."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, event, func, select, text, update

from storage import campaigns, captures, inventory, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import Lease, NewCapture
from storage.errors import UnknownVisit, VisitEnded
from storage.inventory import NewMachine
from storage.schema import capture
from storage.visits import DrawnVisit, Outcome

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def draw(engine: Engine, count: int = 1) -> list[UUID]:
    """Committed visits that have not ended."""
    with engine.begin() as connection:
        definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        campaign_id = campaigns.create_or_update(connection, definition).campaign_id
        machine_id = inventory.add(connection, NewMachine("m", "h:1"), replace=True)
        stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
        drawn = [
            DrawnVisit(uuid4(), campaign_id, 0, machine_id, stratum_id, 1, 1, 1.0, NOON) for _ in range(count)
        ]
        visits.record_draw(connection, drawn)
        return [one.visit_id for one in drawn]


def described(visit_id: UUID, blob: bytes = b"blob") -> NewCapture:
    return NewCapture(
        visit_id=visit_id,
        day=NOON.date(),
        blob=capture_key(NOON.date(), visit_id),
        bytes=len(blob),
        raw_bytes=100,
        sha256=hashlib.sha256(blob).digest(),
        samples=7,
    )


def archived(engine: Engine, count: int = 1) -> list[UUID]:
    """Committed captures that wait to be landed."""
    ids = draw(engine, count)
    with engine.begin() as connection:
        for visit_id in ids:
            assert captures.record(connection, described(visit_id))
    return ids


def lease(engine: Engine, visit_id: UUID, seconds: float = 60, limit: int = 5) -> Lease | None:
    with engine.begin() as connection:
        return captures.lease(connection, visit_id, seconds=seconds, attempts_limit=limit)


def due(engine: Engine) -> list[tuple[UUID, int]]:
    with engine.connect() as connection:
        return [(due.visit_id, due.generation) for due in captures.due(connection, limit=100)]


def wake(engine: Engine, visit_id: UUID) -> None:
    """Let the capture's lease or rest be over."""
    with engine.begin() as connection:
        past = func.now() - timedelta(seconds=1)
        connection.execute(update(capture).where(capture.c.visit_id == visit_id).values(leased_until=past))


def land(engine: Engine, visit_id: UUID, generation: int) -> None:
    with engine.begin() as connection:
        connection.execute(update(capture).where(capture.c.visit_id == visit_id).values(landed=generation))


def finish(connection: Connection, visit_id: UUID, outcome: Outcome) -> None:
    seconds = 5.0 if outcome == Outcome.ANSWERED else None
    assert visits.finish(connection, visit_id, outcome=outcome, detail="", ended_at=NOON, seconds=seconds)


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
    def test_says_what_to_land(self, engine):
        (visit_id,) = archived(engine)
        held = lease(engine, visit_id)
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

    def test_nothing_to_do_once_landed_or_unknown(self, engine):
        (visit_id,) = archived(engine)
        land(engine, visit_id, 1)
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
            assert captures.lease(first, visit_id, seconds=60, attempts_limit=5)
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
                captures.release(connection, visit_id, why="no symbols server")
                rest = connection.scalar(select(capture.c.leased_until - func.clock_timestamp()))
            assert due(engine) == []
            rests.append(round(rest.total_seconds()))
        assert rests == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]

    def test_after_the_last_attempt_it_is_set_aside_with_the_reason(self, engine):
        (visit_id,) = archived(engine)
        for _ in range(2):
            wake(engine, visit_id)
            assert lease(engine, visit_id, limit=2)
            with engine.begin() as connection:
                captures.release(connection, visit_id, why="truncated\0 frame")
        assert set_aside_why(engine, visit_id) is None
        wake(engine, visit_id)
        assert lease(engine, visit_id, limit=2) is None
        assert set_aside_why(engine, visit_id) == "truncated frame"
        assert due(engine) == []

    def test_a_capture_that_kills_its_workers_ends_too(self, engine):
        (visit_id,) = archived(engine)
        for _ in range(3):
            lease(engine, visit_id, limit=3)
            wake(engine, visit_id)
        assert lease(engine, visit_id, limit=3) is None
        assert set_aside_why(engine, visit_id) == "Every worker that tried it ended without a word."

    def test_who_holds_it_can_hold_it_longer_and_nobody_else(self, engine):
        (visit_id,) = archived(engine)
        first = lease(engine, visit_id, seconds=30)
        assert first is not None

        def renewed(held) -> bool:
            with engine.begin() as connection:
                return captures.renew(connection, held, seconds=3600)

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
                captures.release(connection, visit_id, why="no disk", attempt=found.attempt, counts=False)
            assert due(engine) == [], "it rests"
        assert set_aside_why(engine, visit_id) is None

    def test_a_late_release_leaves_the_next_workers_lease_alone(self, engine):
        (visit_id,) = archived(engine)
        first = lease(engine, visit_id)
        wake(engine, visit_id)
        second = lease(engine, visit_id, seconds=3600)
        assert first is not None
        assert second is not None
        with engine.begin() as connection:
            captures.release(connection, visit_id, why="too slow", attempt=first.attempt)
            row = connection.execute(select(capture.c.failure, capture.c.leased_until - func.now())).one()
        assert row[0] == ""
        assert row[1] > timedelta(minutes=50)

    def test_what_was_set_aside_can_be_wanted_again(self, engine):
        (visit_id,) = archived(engine)
        with engine.begin() as connection:
            captures.set_aside(connection, visit_id, "not a capture")
        assert due(engine) == []
        with engine.begin() as connection:
            assert captures.want_again(connection, [visit_id, uuid4()]) == 1
        assert due(engine) == [(visit_id, 2)]
        held = lease(engine, visit_id, limit=1)
        assert held is not None
        assert (held.generation, held.attempt) == (2, 1)

    def test_wanting_a_landed_capture_again_asks_for_the_next_generation(self, engine):
        (visit_id,) = archived(engine)
        land(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, [visit_id])
        assert due(engine) == [(visit_id, 2)]


class TestDue:
    def test_longest_waiting_first_and_no_more_than_asked(self, engine):
        ids = archived(engine, 3)
        with engine.begin() as connection:
            for age, visit_id in enumerate(ids):
                connection.execute(
                    update(capture)
                    .where(capture.c.visit_id == visit_id)
                    .values(archived_at=NOON - timedelta(hours=age))
                )
        assert [visit_id for visit_id, _ in due(engine)] == ids[::-1]
        with engine.connect() as connection:
            assert [due.visit_id for due in captures.due(connection, limit=2)] == [ids[2], ids[1]]

    def test_lists_fresh_ones_first_and_what_is_landed_again_after_them(self, engine):
        old, *fresh = archived(engine, 3)
        with engine.begin() as connection:
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == old)
                .values(landed=1, archived_at=NOON - timedelta(days=1))
            )
            captures.want_again(connection, [old])
        with engine.connect() as connection:
            found = captures.due(connection, limit=9)
            assert len(captures.due(connection, limit=2)) == 2
        assert [(due.visit_id, due.again) for due in found] == [*((id_, False) for id_ in fresh), (old, True)]

    def test_what_is_landed_again_has_a_share_however_many_fresh_ones_wait(self, engine):
        ids = archived(engine, 40)
        for visit_id in ids[:10]:
            land(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids[:10])
            listed = [due.again for due in captures.due(connection, limit=32)]
            assert listed == [False] * 30 + [True] * 2
            assert [due.again for due in captures.due(connection, limit=35)] == [False] * 30 + [True] * 5

    def test_a_full_batch_of_fresh_ones_takes_one_that_is_landed_again_along(self, engine):
        ids = archived(engine, 14)
        for visit_id in ids[:3]:
            land(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids[:3])
        first = lease(engine, ids[3])
        assert first is not None
        with engine.begin() as connection:
            batch = captures.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
            assert sorted(one.again for one in batch) == [False, False, False, True]
            assert {one.visit_id for one in batch if one.again} <= set(ids[:3])
        with engine.begin() as connection:  # seven are left: not a full batch, so all of it is fresh
            rest = captures.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
            assert [one.again for one in rest] == [False] * 3

    def test_one_that_is_landed_again_takes_the_youngest_ones_place(self, engine):
        *fresh, again = archived(engine, 10)
        land(engine, again, 1)
        with engine.begin() as connection:
            captures.want_again(connection, [again])
        first = lease(engine, fresh.pop(0))
        assert first is not None
        with engine.begin() as connection:
            batch = captures.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=10**9)
        assert {one.visit_id for one in batch} == {*fresh[:3], again}

    def test_one_that_is_too_large_for_a_batch_does_not_keep_the_others_out(self, engine):
        head, large, *others = archived(engine, 6)
        with engine.begin() as connection:
            connection.execute(update(capture).where(capture.c.visit_id == large).values(raw_bytes=2000))
        first = lease(engine, head)
        assert first is not None
        with engine.begin() as connection:
            batch = captures.lease_waiting(connection, first, seconds=60, limit=4, raw_bytes=1000)
        assert [one.visit_id for one in batch] == others[:1]

    @pytest.mark.parametrize("again", [False, True])
    def test_a_batch_is_found_by_its_partition(self, engine, again):
        first, *_ = ids = archived(engine, 3)
        for visit_id in ids if again else []:
            land(engine, visit_id, 1)
        with engine.begin() as connection:
            captures.want_again(connection, ids)
        held = lease(engine, first)
        assert held is not None
        plans = []

        def explained(cursor, statement, parameters, **_):
            if statement.startswith("SELECT capture.visit_id"):
                cursor.execute(f"EXPLAIN {statement}", parameters)
                plans.append("\n".join(row[0] for row in cursor.fetchall()))

        with engine.begin() as connection:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            connection.execute(text("SET LOCAL enable_sort = off"))
            event.listen(connection, "before_cursor_execute", explained, named=True)
            captures.lease_waiting(connection, held, seconds=60, limit=4, raw_bytes=10**9)
        kind = "again" if again else "fresh"
        assert f"ix_capture_{kind}_partition" in plans[0]
        assert "Index Cond: (partition" in plans[0]

    @pytest.mark.parametrize("again", [False, True])
    def test_is_answered_from_the_indexes_of_what_is_due(self, engine, again):
        archived(engine)
        plans = []

        def explained(cursor, statement, parameters, **_):
            if statement.startswith("SELECT capture.visit_id"):
                cursor.execute(f"EXPLAIN {statement}", parameters)
                plans.append("\n".join(row[0] for row in cursor.fetchall()))

        with engine.connect() as connection:
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            event.listen(connection, "before_cursor_execute", explained, named=True)
            captures.due(connection, limit=9)
        assert ("ix_capture_again" if again else "ix_capture_fresh") in plans[again]


KILLED_BETWEEN_BLOB_AND_ROW = """
import os, signal, sys
from datetime import date
from uuid import UUID
from storage.archive import Archive, capture_key
visit_id = UUID(sys.argv[2])
Archive(sys.argv[1]).put(capture_key(date.fromisoformat(sys.argv[3]), visit_id), b"blob")
os.kill(os.getpid(), signal.SIGKILL)
"""


class TestOrphans:
    def put_and_die(self, archive: Archive, visit_id: UUID) -> str:
        """A collector process that is killed after the blob and before its row."""
        command = [
            sys.executable,
            "-c",
            KILLED_BETWEEN_BLOB_AND_ROW,
            archive.url,
            str(visit_id),
            str(NOON.date()),
        ]
        died = subprocess.run(command, timeout=60, check=False)
        assert died.returncode == -signal.SIGKILL
        return capture_key(NOON.date(), visit_id)

    def age(self, archive: Archive, key: str, hours: float) -> None:
        then = (datetime.now(UTC) - timedelta(hours=hours)).timestamp()
        os.utime(Path(archive.url) / key, (then, then))

    def sweep(self, engine: Engine, archive: Archive) -> captures.OrphanSweep:
        with engine.begin() as connection:
            return captures.sweep_orphans(connection, archive, grace=timedelta(hours=1))

    def test_a_collector_killed_between_blob_and_row_leaves_an_orphan_that_goes(self, engine, archive):
        (visit_id,) = draw(engine)
        key = self.put_and_die(archive, visit_id)
        self.age(archive, key, 2)
        assert self.sweep(engine, archive).deleted == ()  # the visit is open: its row may still come
        with engine.begin() as connection:
            assert visits.abandon(connection, NOON + timedelta(hours=1)) == 1
        self.age(archive, key, 0.5)
        assert self.sweep(engine, archive).deleted == ()  # within the grace
        self.age(archive, key, 2)
        assert self.sweep(engine, archive).deleted == (key,)
        assert list(archive.keys()) == []
        with engine.begin() as connection, pytest.raises(VisitEnded):
            captures.record(connection, described(visit_id))

    def test_a_blob_with_a_row_stays_whatever_its_age(self, engine, archive):
        ids = archived(engine, 3)
        with engine.begin() as connection:
            finish(connection, ids[0], Outcome.ANSWERED)
            finish(connection, ids[1], Outcome.FAILED)
        for visit_id in ids:
            key = capture_key(NOON.date(), visit_id)
            archive.put(key, b"blob")
            self.age(archive, key, 24 * 365)
        assert self.sweep(engine, archive) == captures.OrphanSweep((), 0)
        assert len(list(archive.keys())) == 3

    def test_a_blob_that_expired_and_came_back_with_a_copy_of_the_archive_goes_again(self, engine, archive):
        ids = archived(engine, 2)
        keys = [capture_key(NOON.date(), visit_id) for visit_id in ids]
        for key in keys:
            archive.put(key, b"blob")
        with engine.begin() as connection:
            connection.execute(update(capture).where(capture.c.visit_id == ids[0]).values(blob=""))
        assert self.sweep(engine, archive).deleted == (), "within the grace"
        for key in keys:
            self.age(archive, key, 2)
        assert self.sweep(engine, archive) == captures.OrphanSweep((keys[0],), 0)
        assert dict(archive.keys()).keys() == {keys[1]}

    def test_blobs_this_database_knows_nothing_of_are_kept_and_counted(self, engine, archive):
        stranger = capture_key(NOON.date(), uuid4())
        archive.put(stranger, b"of another database")
        archive.put("debug/aa/bb", b"not a capture")
        self.age(archive, stranger, 48)
        self.age(archive, "debug/aa/bb", 48)
        assert self.sweep(engine, archive) == captures.OrphanSweep((), 1)
        assert len(list(archive.keys())) == 2

    def test_a_row_written_while_the_sweep_looks_saves_the_blob(self, engine, archive):
        (visit_id,) = draw(engine)
        key = capture_key(NOON.date(), visit_id)
        archive.put(key, b"blob")
        self.age(archive, key, 48)
        swept = []
        with engine.begin() as recording:
            captures.record(recording, described(visit_id))
            finish(recording, visit_id, Outcome.ANSWERED)
            sweeper = threading.Thread(target=lambda: swept.append(self.sweep(engine, archive)))
            sweeper.start()
            sweeper.join(30)
        sweeper.join(30)
        assert swept == [captures.OrphanSweep((), 0)]
        assert archive.get(key) == b"blob"

    def test_half_written_blobs_go_with_the_sweep(self, engine, archive):
        archive.put("captures/x", b"")
        half = Path(archive.url) / "captures/.unfinished-1"
        half.write_bytes(b"ha")
        self.sweep(engine, archive)
        assert half.exists()
        os.utime(half, (0, 0))
        self.sweep(engine, archive)
        assert not half.exists()


def set_aside_why(engine: Engine, visit_id: UUID) -> str | None:
    with engine.connect() as connection:
        return connection.scalar(select(capture.c.set_aside).where(capture.c.visit_id == visit_id))


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
