"""GIVEN a store that is backed up while it works WHEN all of it is lost THEN what is restored answers as before.

As docs/operations.md says: the dump first, then the archive's copy. Workers, builders and mergers go on meanwhile.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import zstandard
from sqlalchemy import Engine, func, select, text, update
from sqlalchemy.engine import make_url

from collector.sweep import adopt
from services.deployment.backup import dump, restore
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.server_programs import program_folders
from services.errors import BackupFailed
from storage import captures, identity, migrate, visits
from storage.archive import Archive, capture_key
from storage.captures import NewCapture
from storage.database import open_engine
from storage.database_health import is_empty, server_version
from storage.errors import DatabaseError
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.schema import Outcome, campaign, capture, machine, rollup_queue, visit
from storage.visits import DrawnVisit
from tests.integration.exactly_once import library, roles
from tests.integration.exactly_once.answers import WINDOWS, Answers
from tests.integration.exactly_once.crew import Crew, Journal, Stage
from tests.integration.exactly_once.made import SEGMENT_S, pattern
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import NOON, Visit, World, make_world

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240), pytest.mark.slow]

VISITS = 12
GENERATIONS = 3
LEASED = timedelta(hours=1)


def fleetprof(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    bare = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "FLEETPROF_DATABASE_URL"}}
    return subprocess.run(
        [sys.executable, "-P", "-m", "services", *map(str, arguments)],
        env={**bare, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class Lateness:
    """Visits that are under way: drawn before the dump and archived after it, or all after it."""

    def __init__(self, engine: Engine, archive: Archive) -> None:
        self._engine = engine
        self._archive = archive
        with engine.connect() as connection:
            self._campaigns = dict(
                tuple(row) for row in connection.execute(select(campaign.c.name, campaign.c.campaign_id))
            )
            self._machine = connection.execute(
                select(machine.c.machine_id).where(machine.c.name == "m0")
            ).scalar_one()
            self._stratum = connection.execute(
                select(visit.c.stratum_id).where(visit.c.machine_id == self._machine).limit(1)
            ).scalar_one()

    def draw(self, name: str) -> DrawnVisit:
        drawn = DrawnVisit(
            uuid4(), self._campaigns[name], 10_000, self._machine, self._stratum, 2, 1, 0.5, NOON
        )
        with self._engine.begin() as connection:
            visits.record_draw(connection, [drawn])
        return drawn

    def archive(self, drawn: DrawnVisit) -> NewCapture:
        message = pattern(0, better=False).of(drawn.visit_id)
        raw = message.SerializeToString()
        blob = zstandard.compress(raw)
        key = capture_key(drawn.day, drawn.visit_id)
        self._archive.put(key, blob)
        samples = sum(segment.samples for segment in message.segments)
        return NewCapture(drawn.visit_id, drawn.day, key, len(blob), len(raw), sha256(blob).digest(), samples)

    def finish(self, drawn: DrawnVisit, new: NewCapture) -> None:
        with self._engine.begin() as connection:
            captures.record(connection, new)
            visits.finish(
                connection, drawn.visit_id, outcome=Outcome.ANSWERED, detail="",
                ended_at=NOON + timedelta(seconds=SEGMENT_S), seconds=SEGMENT_S, utilisation=None,
            )  # fmt: skip


def remaining(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        behind = select(func.count()).select_from(capture).where(capture.c.ingested < capture.c.wanted)
        queued = select(func.count()).select_from(rollup_queue)
        return [connection.execute(count).scalar_one() for count in (behind, queued)]


def applications(engine: Engine) -> list[tuple[str, float]]:
    """What the fleet's applications cost; functions depend on the symbols an ingestion happened to have (`check`)."""
    queries = QueryEngine(engine)
    try:
        start, end = WINDOWS[0]
        selection = Selection(start=start, end=end, event="cpu", campaign="fleet")
        answer = queries.ask(TableQuestion(selection, ("application",), Page(limit=1000)))
        return sorted((str(row.key["application"]), row.total) for row in answer.rows)
    finally:
        queries.close()


def names_nothing_that_is_missing(engine: Engine, archive: Archive, folder: Path) -> None:
    with engine.connect() as connection:
        blobs = connection.scalars(select(capture.c.blob).where(capture.c.blob != "")).all()
        uploads = connection.execute(text("SELECT sha256 FROM debug_file")).all()
    assert len(blobs) >= VISITS
    for blob in blobs:
        assert archive.size(blob) > 0
    assert uploads
    kept = dict(archive.keys())
    for (digest,) in uploads:
        assert any(bytes(digest).hex() in key for key in kept)
    assert library.built(engine, archive, folder) in roles.WHOLE


def dumped_while_leased(url: str, engine: Engine, crew: Crew, file: Path) -> UUID:
    """A capture whose worker dies with everything else: in the dump its lease has an hour to go.

    Only one that is ingested can be taken, else a worker may have it, whose ingestion ends every lease. Whoever wants
    captures again may have looked before it was taken, and ends the lease, too: then the dump is of no use.
    """
    held: list[UUID] = []

    def dumped() -> bool:
        file.unlink(missing_ok=True)
        held[:] = leased(engine)
        if not held:
            return False
        done = fleetprof("db", "dump", file, FLEETPROF_DATABASE_URL=url)
        assert done.returncode == 0, done.stderr
        with engine.connect() as connection:  # nobody leases for so long: if it is so now, it was meanwhile
            return connection.execute(
                select(func.coalesce(capture.c.leased_until > func.now() + LEASED / 2, False)).where(
                    capture.c.visit_id == held[0]
                )
            ).scalar_one()

    crew.until(dumped, "a dump has a lease that somebody holds")
    return held[0]


def leased(engine: Engine) -> list[UUID]:
    """Lease a capture that is ingested already, to be reprocessed; none while all are waiting or being ingested."""
    with engine.begin() as connection:
        found = connection.scalars(
            select(capture.c.visit_id)
            .where(capture.c.ingested == capture.c.wanted)
            .limit(1)
            .with_for_update(skip_locked=True)
        ).all()
        captures.want_again(connection, found)
        connection.execute(
            update(capture)
            .where(capture.c.visit_id.in_(found))
            .values(leased_until=func.now() + LEASED, attempts=1)
        )
    return list(found)


def test_what_was_backed_up_at_work_is_restored_whole(
    database_url: str, engine: Engine, tmp_path: Path, postgres_url: str
):
    archive = Archive(str(tmp_path / "archive"))
    world = make_world(engine, VISITS, archive=archive)
    stage = Stage(database_url, world, archive, Journal(tmp_path / "journal"), generations=GENERATIONS)
    late = Lateness(engine, archive)
    with Crew(stage, 1) as crew:
        for role in (roles.worker, roles.uploader, roles.symbolist, roles.writer):
            crew.start(role)
        crew.until(lambda: library.built(engine, archive, tmp_path) is not None, "symbols are built")
        crew.until(lambda: len(stage.journal.ingestions()) >= VISITS // 2, "half is ingested")
        under_way = late.draw("fleet")
        held = dumped_while_leased(database_url, engine, crew, tmp_path / "fleetprof.dump")
        late.finish(under_way, late.archive(under_way))
        unknown = late.draw("search-only")
        late.finish(unknown, late.archive(unknown))
        crew.tend()
        # cp fails if what somebody still writes gets its name, and with it another one, before cp comes to it.
        unfinished = shutil.ignore_patterns(".unfinished-*")
        shutil.copytree(tmp_path / "archive", tmp_path / "copy", ignore=unfinished)
        with engine.begin() as connection:
            connection.execute(update(capture).where(capture.c.visit_id == held).values(leased_until=None))
    everything = World(
        {
            **world.visits,
            under_way.visit_id: as_visit(under_way, "fleet"),
            unknown.visit_id: as_visit(unknown, "search-only"),
        }
    )
    finished(database_url, stage, everything, engine)
    before = applications(engine)
    assert len(before) > 1
    engine.dispose()
    shutil.rmtree(tmp_path / "archive")

    with fresh_database(postgres_url) as url:
        (tmp_path / "copy").rename(tmp_path / "archive")
        restored = fleetprof("db", "restore", tmp_path / "fleetprof.dump", FLEETPROF_DATABASE_URL=url)
        assert restored.returncode == 0, restored.stderr
        again = open_engine(url, application="test")
        with moment(again) as (connection, _):
            assert check(connection, world).wrong == ()
        names_nothing_that_is_missing(again, archive, tmp_path)
        with again.begin() as connection:
            swept = captures.sweep_orphans(connection, archive, grace=timedelta(0))
        assert (swept.deleted, swept.unknown) == ((), 1)
        adopted = adopt(again, archive, before=NOON + timedelta(minutes=1), now=NOON + timedelta(minutes=1))
        assert adopted == [under_way.visit_id]
        with again.begin() as connection:  # an hour later
            assert connection.execute(
                select(capture.c.leased_until > func.now()).where(capture.c.visit_id == held)
            ).scalar_one()
            connection.execute(update(capture).where(capture.c.visit_id == held).values(leased_until=None))
        known = World({**world.visits, under_way.visit_id: as_visit(under_way, "fleet")})
        finished(url, replace(stage, url=url), known, again)
        assert applications(again) == before
        again.dispose()


def as_visit(drawn: DrawnVisit, name: str) -> Visit:
    """For the truth."""
    return Visit(drawn.visit_id, 0, name, drawn.campaign_id, "m0", drawn.stratum_id, -1, NOON)


@contextmanager
def fresh_database(postgres_url: str) -> Iterator[str]:
    """An empty one on the session's server."""
    name = f"restored_{uuid4().hex[:12]}"
    administrator = open_engine(postgres_url, application="test").execution_options(
        isolation_level="AUTOCOMMIT"
    )
    with administrator.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    with administrator.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    administrator.dispose()


def finished(url: str, stage: Stage, world: World, engine: Engine) -> None:
    """Ingest and merge all that waits, out of the archive alone; then every visit is there once, and answers are so."""
    stage = replace(stage, world=world, generations=1)
    with Crew(stage, 2) as crew:
        for role in (roles.worker, roles.feeder, roles.writer):
            crew.start(role)
        crew.until(lambda: remaining(engine) == [0, 0], "all is ingested and merged")
    with moment(engine) as (connection, _):
        checked = check(connection, world)
    assert checked.wrong == ()
    assert set(checked.ingested) == set(world.visits)
    with engine.connect() as connection:
        assert (
            connection.scalars(select(capture.c.quarantined).where(capture.c.quarantined.is_not(None))).all()
            == []
        )
    asking = open_engine(url, application="answers")
    try:
        answers = Answers(asking)
        with moment(engine) as (_, name):
            assert answers.wrong(name, checked, random.Random(1), 4) == []
    finally:
        asking.dispose()


@pytest.fixture
def state_dirs() -> Iterator[tuple[Path, Path]]:
    """Two folders that PostgreSQL's own user can enter, with paths short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fpb-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder / "old", folder / "new"
    shutil.rmtree(folder, ignore_errors=True)


def test_the_data_of_up_goes_from_one_folder_to_another_while_it_does_not_run(
    state_dirs: tuple[Path, Path], tmp_path: Path
):
    old, new = state_dirs
    server = EmbeddedPostgres(old / "postgres")
    server.start()
    migrate.upgrade(server.url())
    engine = open_engine(server.url(), application="test")
    make_world(engine, 2)
    former = identity.ensure(engine)
    engine.dispose()
    server.stop()
    file = tmp_path / "it.dump"
    dumped = fleetprof("db", "dump", file, FLEETPROF_STATE_DIR=str(old))
    assert dumped.returncode == 0, dumped.stderr
    assert f"{old}/archive" in dumped.stdout
    assert file.stat().st_mode & 0o077 == 0
    assert server.pid is None
    restored = fleetprof("db", "restore", file, FLEETPROF_STATE_DIR=str(new))
    assert restored.returncode == 0, restored.stderr
    server = EmbeddedPostgres(new / "postgres")
    server.start()
    try:
        engine = open_engine(server.url(), application="test")
        with engine.connect() as connection:
            assert connection.execute(select(func.count()).select_from(capture)).scalar_one() == 2
            assert migrate.differences(connection) == []
            names = identity.known(connection)
        assert names.former == {former}
        assert names.current not in {None, former}, "ids it gives away from now on may mean others in copies"
        engine.dispose()
    finally:
        server.stop()


def test_what_is_in_the_way_is_neither_overwritten_nor_mixed(
    database_url: str, postgres_url: str, tmp_path: Path
):
    file = tmp_path / "it.dump"
    assert dump(database_url, file) == file.stat().st_size
    content = file.read_bytes()
    with pytest.raises(BackupFailed, match="already exists"):
        dump(database_url, file)
    with pytest.raises(BackupFailed, match="has tables, but a dump needs an empty database"):
        restore(database_url, file)
    with pytest.raises(BackupFailed, match="is not a file"):
        restore(database_url, tmp_path / "none.dump")
    file.write_bytes(content[: len(content) // 2])
    with fresh_database(postgres_url) as url:
        with pytest.raises(BackupFailed, match="pg_restore failed"):
            restore(url, file)
        engine = open_engine(url, application="test")
        with engine.connect() as connection:
            assert is_empty(connection)
        engine.dispose()
    with pytest.raises(DatabaseError):
        dump(make_url(database_url).set(database="none").render_as_string(), tmp_path / "other.dump")
    with pytest.raises(BackupFailed, match="pg_dump failed"):
        dump(database_url, tmp_path / "no such folder" / "other.dump")
    assert {path.name for path in tmp_path.iterdir()} == {"it.dump"}


OLDER = [*Path("/usr/lib/postgresql").glob("1[456]/bin")]
WHEEL = [folder for folder in program_folders() if folder not in {*Path("/usr/lib/postgresql").glob("*/bin")}]


@pytest.mark.skipif(not (OLDER and WHEEL), reason="needs PostgreSQL 14 to 16 beside the wheel's programs")
def test_an_older_server_takes_what_newer_programs_dumped(
    state_dirs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("services.embedded.server_programs._postgres_folders", lambda *_: iter(OLDER[:1]))
    monkeypatch.setattr("services.deployment.backup.program_folders", lambda: iter(WHEEL))
    monkeypatch.setenv("PATH", str(tmp_path))
    server = EmbeddedPostgres(state_dirs[0] / "postgres", options={"fsync": "off"})
    server.start()
    try:
        migrate.upgrade(server.url())
        engine = open_engine(server.url(), application="test")
        with engine.connect() as connection:
            assert server_version(connection) < 170_000
        make_world(engine, 2)
        with engine.begin() as connection:  # a line of the table's own data
            connection.execute(update(capture).values(failure="SET transaction_timeout = 0;"))
        engine.dispose()
        file = tmp_path / "it.dump"
        dump(server.url(), file)
        with fresh_database(server.url("postgres")) as url:
            restore(url, file)
            engine = open_engine(url, application="test")
            with engine.connect() as connection:
                assert (
                    connection.scalars(select(capture.c.failure)).all()
                    == ["SET transaction_timeout = 0;"] * 2
                )
                assert migrate.differences(connection) == []
            engine.dispose()
        content = file.read_bytes()
        for end in (len(content) // 2, len(content) - 3000):
            file.write_bytes(content[:end])
            with fresh_database(server.url("postgres")) as url:
                with pytest.raises(BackupFailed, match="failed with"):
                    restore(url, file)
                engine = open_engine(url, application="test")
                with engine.connect() as connection:
                    assert is_empty(connection), "all or nothing"
                engine.dispose()
    finally:
        server.stop()


def test_an_older_pg_dump_than_the_server_is_not_taken(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 13.4'\n")
    old.chmod(0o755)
    monkeypatch.setattr("services.deployment.backup.program_folders", lambda: iter([tmp_path]))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupFailed, match="postgresql-client-"):
        dump(database_url, tmp_path / "it.dump")
