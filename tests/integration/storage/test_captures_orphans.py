"""Blobs without a row: what a sweep deletes, and what it keeps."""

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, update

from storage import captures, visits
from storage.archive import Archive, capture_key
from storage.errors import VisitEnded
from storage.schema import Outcome, capture
from tests.integration.storage.recorded import NOON, archived, described, draw, finish

pytestmark = pytest.mark.integration

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
