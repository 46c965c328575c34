"""What goes of symbols: only what nobody can need any more."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Engine, func, select, update

from storage.archive import Archive
from storage.retention.retain import Keep, retain
from storage.schema import (
    capture_binary,
    debug_file,
    reprocessing,
    source_file,
    source_path,
    symbol_absence,
    symbol_request,
    symcache,
)
from storage.symbols import absences, builds, candidates, requests, sources, symbol_blobs
from storage.symbols import reprocessing as reprocessings
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality
from storage.symbols.requests import RequestOutcome
from storage.symbols.symbol_retention import RetainedSymbols, retain_symbols
from tests.binary_fleet import NAMELESS, Fleet

pytestmark = pytest.mark.integration

DAYS = 90


@pytest.fixture
def fleet(engine: Engine) -> Fleet:
    return Fleet(engine)


class Store:
    """Something of everything, for the binaries `ran` and `idle`."""

    fetched_bytes = 1 << 20

    def __init__(self, fleet: Fleet, archive: Archive, folder: Path) -> None:
        self.fleet, self.engine, self.archive, self.folder = fleet, fleet.engine, archive, folder
        fleet.visit({"ran": NAMELESS})
        for key in ("ran", "idle"):
            self.add(key)
            self.build(key, "old producer")
            sources.put_source(self.engine, archive, key, "main.c", key.encode())

    def add(self, key: str, needs: tuple[str, ...] = ()) -> bytes:
        path = self.folder / "file"
        path.write_bytes(f"debug file of {key}".encode())
        candidate = Candidate(key, FileKind.DEBUGINFO, Quality.DWARF, path, UPLOAD, needs=needs)
        return candidates.add(self.engine, self.archive, candidate).file.sha256

    def build(self, key: str, producer: str, made_of: tuple[bytes, ...] = ()) -> None:
        path = self.folder / "cache"
        path.write_bytes(f"{producer} of {key}".encode())
        with self.engine.begin() as connection:
            lease = builds.claim_build(connection, key, producer, 60)
        assert lease is not None
        assert builds.finish(self.engine, self.archive, lease, path, made_of=made_of) is not None

    def age(self, days: float) -> None:
        """Everything was that many days ago."""
        then = timedelta(days=days)
        with self.engine.begin() as connection:
            for column in (
                debug_file.c.added_at, debug_file.c.changed_at, debug_file.c.used_at,
                symcache.c.built_at, symcache.c.used_at, symcache.c.failed_until, symcache.c.leased_until,
                source_file.c.added_at, source_path.c.added_at, symbol_absence.c.until,
                symbol_request.c.requested_at, reprocessing.c.requested_at, reprocessing.c.finished_at,
            ):  # fmt: skip
                connection.execute(update(column.table).values({column: column - then}))

    def retain(self) -> RetainedSymbols:
        done = retain_symbols(self.engine, self.archive, DAYS, fetched_bytes=self.fetched_bytes)
        symbol_blobs.sweep(self.engine, self.archive, grace=timedelta(0))
        return done

    def keys(self, column) -> list[str]:
        with self.engine.connect() as connection:
            return sorted(connection.scalars(select(column)))

    def count(self, table) -> int:
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.fixture
def store(fleet: Fleet, archive: Archive, tmp_path: Path) -> Store:
    folder = tmp_path / "files"
    folder.mkdir()
    return Store(fleet, archive, folder)


def test_nothing_goes_before_its_time(store: Store):
    store.age(DAYS - 1)
    assert store.retain() == RetainedSymbols()
    assert len(list(store.archive.keys("symbols"))) == 6


def test_what_a_kept_capture_needs_stays_and_the_rest_goes(store: Store):
    store.age(DAYS + 1)
    assert store.retain() == RetainedSymbols(debug_files=1, caches=1, sources=1)
    for column in (debug_file.c.binary_key, symcache.c.binary_key, source_path.c.binary_key):
        assert store.keys(column) == ["ran"]
    assert store.count(source_file) == 1
    assert len(list(store.archive.keys("symbols"))) == 3
    assert store.retain() == RetainedSymbols()


def test_parts_stay_as_long_as_their_binary(store: Store):
    """What dwz moved out of it, and the other halves of split DWARF: no capture has their keys."""
    with store.engine.begin() as connection:
        connection.execute(debug_file.delete())
    parts = {key: (f"dwo:{key}", f"dwp:{key}", f"dwz of {key}") for key in ("ran", "idle")}
    for key, needs in parts.items():
        store.add(key, needs)
        for need in needs:
            store.add(need)
    store.age(DAYS + 1)
    assert store.retain().debug_files == 4
    assert set(store.keys(debug_file.c.binary_key)) == {"ran", *parts["ran"]}
    with store.engine.begin() as connection:
        connection.execute(capture_binary.delete())
    assert store.retain().debug_files == 4


def test_what_a_kept_cache_was_made_of_stays(store: Store):
    """A debug file that its checksum names, which says of no binary that it is its part."""
    for key in ("ran", "idle"):
        store.build(key, "new producer", (store.add(f"crc32:{key}"),))
    store.age(DAYS + 1)
    store.retain()
    assert store.keys(debug_file.c.binary_key) == ["crc32:ran", "ran"]


def test_a_round_of_retention_does_it_too(store: Store):
    store.age(DAYS + 1)
    today = datetime.now(UTC).date()
    assert retain(store.engine, store.archive, today, Keep(35, 400, DAYS + 2)).symbols == RetainedSymbols()
    done = retain(store.engine, store.archive, today, Keep(35, 400, DAYS))
    assert done.symbols == RetainedSymbols(debug_files=1, caches=1, sources=1)


def test_what_was_used_lately_stays(store: Store):
    store.age(DAYS + 1)
    with store.engine.begin() as connection:
        for table in (debug_file, symcache):
            connection.execute(update(table).values(used_at=func.now()))
    done = store.retain()
    assert (done.debug_files, done.caches) == (0, 0)


def test_an_upload_of_old_content_makes_it_young(store: Store):
    store.age(DAYS + 1)
    assert store.add("idle")
    sources.put_source(store.engine, store.archive, "idle", "main.c", b"idle")
    done = store.retain()
    assert (done.debug_files, done.sources) == (0, 0)


def test_a_rejected_file_goes_after_a_month_though_it_ran(store: Store):
    with store.engine.begin() as connection:
        [file] = candidates.every(connection, "ran")
        candidates.reject(connection, "ran", file.sha256, "wrong")
    store.age(29)
    assert store.retain().debug_files == 0
    store.age(2)
    assert store.retain().debug_files == 1
    assert store.keys(debug_file.c.binary_key) == ["idle"]


def test_a_replaced_cache_goes_when_nobody_uses_it(store: Store):
    store.age(8)
    store.build("ran", "new producer")
    with store.engine.begin() as connection:
        used = update(symcache).where(symcache.c.producer == "old producer").values(used_at=func.now())
        connection.execute(used)
    assert store.retain().caches == 0
    store.age(8)
    assert store.retain().caches == 1
    assert store.keys(symcache.c.producer) == ["new producer", "old producer"]


def test_a_build_under_way_is_left_alone(store: Store):
    store.age(DAYS + 1)
    with store.engine.begin() as connection:
        assert builds.claim_build(connection, "idle", "old producer", 60, source=b"new file")
        assert builds.claim_build(connection, "fresh", "old producer", 60)
    assert store.retain().caches == 0
    store.age(30)  # both have died
    assert store.retain().caches == 2


def test_notes_go_when_they_are_over(store: Store):
    with store.engine.begin() as connection:
        absences.note_absence(connection, "ran", "debuginfo", "https://d", reason="404", seconds=3600)
        ask = requests.claim_request(connection, per_hour=1)
        assert ask is None, "it has symbols"
        reprocessings.begin(connection, "idle", why="upload", nameless=True)
        candidates.remove(connection, "ran", candidates.every(connection, "ran")[0].sha256)
        ask = requests.claim_request(connection, per_hour=1)
        assert ask is not None
        requests.note_answer(connection, ask, RequestOutcome.GOT)
    store.age(1)
    assert store.retain().notes == 1, "the absence"
    with store.engine.begin() as connection:
        reprocessings.feed(connection)
    store.age(31)
    assert store.retain().notes == 1, "the reprocessing, which had nothing to do"
    store.age(DAYS)
    assert store.retain().notes == 1, "the ask"
    assert store.count(reprocessing) == store.count(symbol_request) == store.count(symbol_absence) == 0


def test_of_what_was_fetched_the_oldest_goes_where_it_takes_too_much(store: Store):
    texts = {f"{n}.c": bytes(Random(n).randbytes(1000)) for n in range(8)}
    for name, text in texts.items():
        sources.put_source(store.engine, store.archive, "ran", f"/fetched/{name}", text, fetched=True)
        store.age(1)
    # Uploaded meanwhile, and fetched once more, which takes nothing from what was uploaded.
    sources.put_source(store.engine, store.archive, "idle", "/uploaded/0.c", texts["0.c"])
    sources.put_source(store.engine, store.archive, "ran", "/fetched/0.c", texts["0.c"], fetched=True)
    store.age(1)
    with store.engine.connect() as connection:
        store.fetched_bytes = sources.fetched_bytes(connection)
    assert 7000 <= store.fetched_bytes <= 7700
    assert store.retain().sources == 2
    assert set(store.keys(source_path.c.path)) >= {
        "/uploaded/0.c",
        *(f"/fetched/{n}.c" for n in (0, 3, 4, 5, 6, 7)),
    }
    assert not {"/fetched/1.c", "/fetched/2.c"} & set(store.keys(source_path.c.path))
    assert store.retain() == RetainedSymbols()
    store.fetched_bytes = 0
    assert store.retain().sources == 5
    with store.engine.connect() as connection:
        assert sources.fetched_bytes(connection) == 0
    assert len(list(store.archive.keys("symbols"))) == 7  # of two binaries each three, and what was uploaded


def test_what_was_fetched_today_stays(store: Store):
    sources.put_source(store.engine, store.archive, "ran", "/a.c", b"text", fetched=True)
    store.fetched_bytes = 0
    assert store.retain() == RetainedSymbols()
    store.age(2)
    assert store.retain().sources == 1
