"""GIVEN workers on several machines WHEN one needs a binary's symbols THEN one builds them for all of them."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, delete, func, update

from storage.archive import Archive
from storage.schema import symcache
from storage.symbols import caches, candidates, symbol_blobs
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality
from symbolizer.addresses import CacheAddresses
from symbolizer.builds import symcaches
from symbolizer.builds.build import BuildLimits, build_input
from symbolizer.builds.builder import SymCacheBuilder, fleet_symcaches
from symbolizer.builds.built_symbols import FORMAT
from symbolizer.builds.cache_ledger import producer
from symbolizer.builds.fleet_ledger import FleetLedger
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.builds.symcaches import SymCaches
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.source import Found
from symbolizer.sources.symbol_store_source import Uploaded

pytestmark = pytest.mark.integration

KEY = "cd" * 20
SOURCE = "int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }\n"
MAIN = "int main(int argc, char **argv) { return work(argc) & 1; }\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "p.c").write_text(SOURCE + MAIN)
    subprocess.run(["gcc", "-g", "-O1", "p.c", "-o", "p"], cwd=folder, check=True)
    return folder / "p"


@pytest.fixture
def found(program: Path) -> Iterator[Found]:
    with OpenedFile(program) as content:
        yield Found(content, ElfFile(content), "p")


class Fleet:
    """Machines with a folder each, on one store."""

    def __init__(self, engine: Engine, archive: Archive, root: Path) -> None:
        self.engine, self.archive, self.root = engine, archive, root

    def machine(self, name: str, **options) -> SymCaches:
        return fleet_symcaches(self.engine, self.archive, self.root / name, **options)

    def rows(self) -> list[caches.BuildState]:
        with self.engine.connect() as connection:
            return caches.states(connection, KEY)


@pytest.fixture
def fleet(engine: Engine, archive: Archive, tmp_path: Path) -> Fleet:
    return Fleet(engine, archive, tmp_path / "machines")


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Origins of the builds that were begun."""
    begun: list[str] = []
    make = symcaches.make_built_symbols

    def counted(source, *rest, **options):
        begun.append(source.debug.origin)
        return make(source, *rest, **options)

    monkeypatch.setattr(symcaches, "make_built_symbols", counted)
    return begun


def functions(built: Built | NotBuilt | None) -> set[str]:
    assert isinstance(built, Built), built
    chains = built.symbols.table.chains(CacheAddresses(np.arange(0x1000, 0x1300, dtype=np.uint64)))
    return {built.symbols.table.location(index).function for index in chains.locations.tolist()}


def test_what_one_built_the_others_fetch(fleet: Fleet, found: Found, builds: list[str]) -> None:
    assert fleet.machine("one").find(KEY) is None
    built = fleet.machine("one").build(KEY, build_input(found, found))
    assert functions(built) >= {"work", "main"}
    assert functions(fleet.machine("other").find(KEY)) == functions(built)
    assert functions(fleet.machine("third").build(KEY, build_input(found, found))) == functions(built)
    assert builds == ["p"]
    [row] = fleet.rows()
    assert row.cache is not None
    assert row.cache.source_sha256 == hashlib.sha256(found.content[0 : found.content.size]).digest()
    assert row.cache.build_cpu_s is not None
    assert 0 < row.cache.build_cpu_s < 60
    assert row.cache.peak_rss_bytes is not None
    assert 1 << 20 < row.cache.peak_rss_bytes < 1 << 30
    assert row.cache.bytes < row.cache.raw_bytes


def test_of_many_at_once_one_builds(fleet: Fleet, program: Path, builds: list[str]) -> None:
    outcomes: list[Built | NotBuilt] = []

    def one(name: str) -> None:
        with OpenedFile(program) as content:
            source = Found(content, ElfFile(content), name)
            outcomes.append(fleet.machine(name).build(KEY, build_input(source, source), wait_s=60))

    threads = [threading.Thread(target=one, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert [functions(outcome) >= {"work"} for outcome in outcomes] == [True] * 4


def test_whoever_does_not_wait_is_told_that_it_is_pending(
    fleet: Fleet, found: Found, builds: list[str]
) -> None:
    ledger = FleetLedger(fleet.engine, fleet.archive)
    digest = hashlib.sha256(found.content[0 : found.content.size]).digest()
    with ledger.claim(KEY, digest, wait_s=0) as claim:
        assert claim is not None
        outcome = fleet.machine("one").build(KEY, build_input(found, found))
        assert isinstance(outcome, NotBuilt)
        assert outcome.pending
        assert not builds


def test_a_lease_that_runs_out_between_two_looks_is_taken(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its builder has died: it holds at the claim, and no more when that asks whether somebody builds."""
    states = caches.states

    def later(connection: Connection, key: str) -> list[caches.BuildState]:
        connection.execute(update(symcache).values(leased_until=func.clock_timestamp()))
        return states(connection, key)

    ledger = FleetLedger(fleet.engine, fleet.archive)
    with ledger.claim(KEY, b"1" * 32, wait_s=0) as died:
        assert died is not None
        monkeypatch.setattr(caches, "states", later)
        with ledger.claim(KEY, b"1" * 32, wait_s=0) as taken:
            assert taken is not None
            assert taken.is_still_claimed()
            assert not died.is_still_claimed()


def test_a_builder_that_is_told_to_stop_gives_the_build_back(fleet: Fleet, found: Found) -> None:
    ledger = FleetLedger(fleet.engine, fleet.archive)
    with pytest.raises(KeyboardInterrupt), ledger.claim(KEY, b"1" * 32, wait_s=0) as claim:  # noqa: PT012 - it is raised inside
        assert claim is not None
        raise KeyboardInterrupt
    assert functions(fleet.machine("one").build(KEY, build_input(found, found))) >= {"work"}


KILLED = """
import sys
from pathlib import Path
from storage.archive import Archive
from storage.database import open_engine
from symbolizer.builds import symcaches
from symbolizer.builds.build import build_input
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.builds.fleet_ledger import FleetLedger
from symbolizer.sources.source import Found
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder

url, archive, folder, program, key, point = sys.argv[1:]

def stop(*_, **__):
    print("here", flush=True)
    sys.stdin.read()

ledger = FleetLedger(open_engine(url, application="killed"), Archive(archive), lease_s=1.0)
place = SymbolCacheFolder(Path(folder))
if point == "building":
    symcaches.make_built_symbols = stop
elif point == "stored":
    place.keep = stop
elif point == "putting":
    Archive.put_chunks = stop
with OpenedFile(Path(program)) as content:
    found = Found(content, ElfFile(content), "p")
    symcaches.SymCaches(place, ledger).build(key, build_input(found, found))
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", ["building", "putting", "stored"])
def test_a_builder_killed_anywhere_loses_nothing(
    fleet: Fleet, database_url: str, program: Path, found: Found, point: str
) -> None:
    arguments = [database_url, fleet.archive.url, str(fleet.root / "one"), str(program), KEY, point]
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
        env=os.environ | {"PYTHONPATH": f".{os.pathsep}proto"},
    )
    with killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"here\n"
        killed.send_signal(signal.SIGKILL)
    other = fleet.machine("other")
    assert functions(other.build(KEY, build_input(found, found), wait_s=60)) >= {"work"}
    assert functions(fleet.machine("one").find(KEY)) >= {"work"}
    assert len(fleet.rows()) == 1


def test_a_build_that_was_taken_over_is_given_up(fleet: Fleet, found: Found, monkeypatch) -> None:
    """Its worker was asleep for longer than its lease; another has the build now."""
    digest = hashlib.sha256(found.content[0 : found.content.size]).digest()
    make = symcaches.make_built_symbols
    other = FleetLedger(fleet.engine, fleet.archive)

    def overtaken(source, output, limits, *, is_still_claimed):
        with other.claim(KEY, digest, wait_s=10) as taken:
            assert taken is not None
            assert not is_still_claimed()
            return make(source, output, limits, is_still_claimed=is_still_claimed)

    monkeypatch.setattr(symcaches, "make_built_symbols", overtaken)
    slow = SymCaches(
        SymbolCacheFolder(fleet.root / "slow"), FleetLedger(fleet.engine, fleet.archive, lease_s=0.3)
    )
    outcome = slow.build(KEY, build_input(found, found))
    assert isinstance(outcome, NotBuilt)
    assert outcome.pending
    assert [row.cache for row in fleet.rows()] == [None]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["missing", "damaged", "other content"])
def test_a_blob_that_is_no_good_is_built_again(
    fleet: Fleet, found: Found, builds: list[str], how: str
) -> None:
    fleet.machine("one").build(KEY, build_input(found, found))
    [row] = fleet.rows()
    assert row.cache is not None
    path = Path(fleet.archive.url) / symbol_blobs.key_of(row.cache.sha256)
    if how == "missing":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if how == "damaged" else content[:-30] + b"\1" * 30)
    other = fleet.machine("other")
    assert other.find(KEY) is None
    assert functions(other.build(KEY, build_input(found, found))) >= {"work"}
    assert builds == ["p", "p"]
    assert functions(fleet.machine("third").find(KEY)) >= {"work"}


def test_a_failure_is_known_to_all_and_another_file_is_tried(
    fleet: Fleet, found: Found, builds: list[str]
) -> None:
    little = BuildLimits(memory_bytes=1 << 20)
    failed = fleet.machine("one", limits=little).build(KEY, build_input(found, found))
    assert isinstance(failed, NotBuilt)
    assert not failed.pending
    again = fleet.machine("other").build(KEY, build_input(found, found))
    assert isinstance(again, NotBuilt)
    assert again.reason == failed.reason
    assert abs(again.until - (time.time() + 3600)) < 600
    assert builds == ["p"]
    better = Found(found.content, found.elf, "better", sha256=b"2" * 32)
    assert functions(fleet.machine("other").build(KEY, build_input(better, better))) >= {"work"}


def test_a_new_producer_builds_anew_when_it_is_first_asked(
    fleet: Fleet, found: Found, builds: list[str], monkeypatch
) -> None:
    fleet.machine("one").build(KEY, build_input(found, found))
    monkeypatch.setattr("symbolizer.builds.fleet_ledger.producer", lambda: "symbolic-99.0+7")
    monkeypatch.setattr("symbolizer.builds.fleet_ledger.FORMAT", 7)
    assert fleet.machine("one").find(KEY) is None
    assert functions(fleet.machine("one").build(KEY, build_input(found, found))) >= {"work"}
    monkeypatch.undo()
    assert functions(fleet.machine("other").find(KEY)) >= {"work"}  # not upgraded yet
    assert {row.producer for row in fleet.rows()} == {producer(), "symbolic-99.0+7"}


def test_until_a_new_producer_has_built_the_old_ones_work_serves(
    fleet: Fleet, found: Found, builds: list[str], monkeypatch
) -> None:
    fleet.machine("one").build(KEY, build_input(found, found))
    newer = f"symbolic-99.0+{FORMAT}"
    monkeypatch.setattr("symbolizer.builds.fleet_ledger.producer", lambda: newer)
    monkeypatch.setattr("symbolizer.builds.symcaches.producer", lambda: newer)
    meanwhile = fleet.machine("other").find(KEY)
    assert functions(meanwhile) >= {"work"}
    assert isinstance(meanwhile, Built)
    assert meanwhile.entry.outdated
    now = fleet.machine("other").build(KEY, build_input(found, found))
    assert isinstance(now, Built)
    assert (now.entry.producer, now.entry.outdated, len(builds)) == (newer, False, 2)
    found_now = fleet.machine("third").find(KEY)
    assert isinstance(found_now, Built)
    assert not found_now.entry.outdated


def upload(fleet: Fleet, path: Path, key: str = KEY) -> bytes:
    candidate = Candidate(
        binary_key=key,
        kind=FileKind.EXECUTABLE,
        quality=Quality.DWARF,
        path=path,
        origin=UPLOAD,
        name=path.name,
    )
    return candidates.add(fleet.engine, fleet.archive, candidate).file.sha256


def test_a_better_upload_takes_the_place_of_what_was_built(
    fleet: Fleet, found: Found, program: Path, tmp_path: Path, builds: list[str]
) -> None:
    fleet.machine("one").build(KEY, build_input(found, found))
    better = tmp_path / "better"
    better.write_bytes(program.read_bytes() + b"more")
    sha256 = upload(fleet, better)
    before = fleet.machine("one").find(KEY)
    assert isinstance(before, Built)
    assert before.entry.outdated
    with OpenedFile(better) as content:
        source = Found(content, ElfFile(content), "better", sha256=sha256)
        after = fleet.machine("one").build(KEY, build_input(source, source))
    assert isinstance(after, Built)
    assert (after.entry.source_sha256, after.entry.outdated) == (sha256, False)
    again = fleet.machine("other").find(KEY)
    assert isinstance(again, Built)
    assert not again.entry.outdated
    assert builds == ["p", "better"]


def test_what_was_built_from_a_rejected_file_is_used_no_more(
    fleet: Fleet, found: Found, program: Path
) -> None:
    sha256 = upload(fleet, program)
    built = fleet.machine("one").build(KEY, build_input(found, found))
    assert isinstance(built, Built)
    assert built.entry.source_sha256 == sha256
    with fleet.engine.begin() as connection:
        candidates.reject(connection, KEY, sha256, "It is of another build.")
    assert fleet.machine("one").find(KEY) is None
    refused = fleet.machine("one").build(KEY, build_input(found, found))  # this machine has the same content
    assert isinstance(refused, NotBuilt)
    assert (refused.pending, refused.reason) == (
        False,
        "Its debug file was rejected. It is of another build.",
    )
    assert upload(fleet, program) == sha256  # takes the rejection back
    assert functions(fleet.machine("one").find(KEY)) >= {"work"}


def test_the_task_builds_by_key_what_its_source_has(
    fleet: Fleet, program: Path, engine: Engine, archive: Archive, tmp_path: Path
) -> None:
    key = ElfFile(program.read_bytes()).build_id.hex()
    builder = SymCacheBuilder(engine, archive, LocalFiles(debug_roots=[tmp_path]), tmp_path / "task")
    nowhere = builder.build(key)
    assert isinstance(nowhere, NotBuilt)
    assert nowhere.reason
    assert functions(builder.build(key, str(program))) >= {"work"}
    assert functions(fleet.machine("other").find(key)) >= {"work"}


@pytest.mark.slow
@pytest.mark.parametrize("limits", [BuildLimits(), BuildLimits(memory_bytes=1 << 20)])
def test_a_file_that_cannot_be_read_gives_way_to_the_next(
    fleet: Fleet, program: Path, tmp_path: Path, limits: BuildLimits
) -> None:
    engine, archive = fleet.engine, fleet.archive
    key = ElfFile(program.read_bytes()).build_id.hex()
    source = Uploaded(engine, archive, DownloadFolder(tmp_path / "downloads"))
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 64)
    broken = tmp_path / "broken"
    command = ["objcopy", "--update-section", f".debug_info={tmp_path / 'noise'}", program, broken]
    subprocess.run(command, check=True)

    def rejected() -> dict[bytes, bool]:
        with engine.connect() as connection:
            return {file.sha256: file.rejected is not None for file in candidates.every(connection, key)}

    bad = upload(fleet, broken, key)
    assert isinstance(SymCacheBuilder(engine, archive, source, tmp_path / "one").build(key), NotBuilt)
    assert rejected() == {bad: False}, "there is no other"
    good = upload(fleet, program, key)
    assert upload(fleet, broken, key) == bad  # the newest again
    with engine.begin() as connection:
        connection.execute(delete(symcache))
    outcome = SymCacheBuilder(engine, archive, source, tmp_path / "two", limits).build(key)
    is_limited = limits != BuildLimits()
    assert rejected() == {bad: not is_limited, good: False}, "a limit is no fault of the file"
    if not is_limited:
        assert functions(outcome) >= {"work"}
