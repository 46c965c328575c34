"""GIVEN captures of a stripped program WHEN its symbols come THEN it has names at once, and lines in the next generation."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, select, text, update

from collector import sweep
from collector.dispatch import Dispatch
from fleetpb import capture_pb2
from storage import captures
from storage.archive import Archive
from storage.ingest.symbolized import ResolvedFrames
from storage.schema import binary, capture, function, line_chunk, reprocessing
from storage.symbols import candidates
from storage.symbols import reprocessing as reprocessings
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.improved_binaries import improved
from storage.symbols.kinds import FileKind, Quality
from storage.symbols.sources import is_built_from
from symbolizer.builds.builder import SymCacheBuilder, fleet_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.identity import ImageIdentity
from symbolizer.images.resolve import Resolver
from symbolizer.sources.chain import SourceSettings, make_sources
from symbolizer.worker.function_naming import NOTHING, FunctionNamer
from symbolizer.worker.ingestion import MAX_REREADS, Ingester
from tests.ingested import stored
from tests.pending_captures import PendingCaptures

pytestmark = pytest.mark.integration

HEADER = "static inline __attribute__((always_inline)) int cube(int x) { return x * x * x; }\n"
SOURCE = """
#include "cube.h"
__attribute__((noinline)) int work(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += cube(sum + i);
    return sum;
}
__attribute__((noinline)) int quiet(int n) { return work(n) + n; }
int main(int argc, char **argv) { return quiet(argc * 1000); }
"""
NAMED = ("main", "quiet", "work")
INLINED = ("main", "quiet", "work", "cube")


@dataclass(frozen=True)
class Program:
    """A program as machines run it, and what was stripped from it."""

    stripped: Path
    debug: Path
    symbols: Path
    """With a symbol table, without DWARF."""
    starts: dict[str, int]
    inlined: int
    """Address of an instruction of `cube` in `work`."""

    @property
    def build_id(self) -> bytes:
        found = ElfFile(self.stripped.read_bytes()).build_id
        assert found
        return found

    @property
    def key(self) -> str:
        return self.build_id.hex()

    def names(self, *names: str) -> tuple[str, ...]:
        """As they are called while there are no symbols."""
        return tuple(f"{self.stripped.name}+{self.starts[name]:#x}" for name in names)

    def capture(self, visit_id: UUID) -> capture_pb2.Capture:
        """Seven samples in `cube` in `work`, called by `quiet`, called by `main`."""
        message = capture_pb2.Capture(format=1, visit_id=visit_id.bytes)
        message.strings.extend(["", str(self.stripped), "app", "cpu", "nanoseconds"])
        message.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=self.build_id)
        for name, into in (("work", self.inlined - self.starts["work"]), ("quiet", 1), ("main", 1)):
            message.frames.mapping.append(0)
            message.frames.offset.append(self.starts[name] + into)
            message.frames.into_function.append(1 + into)
            message.frames.flags.append(1)
        message.stacks.frames.extend([0, 1, 2])
        message.stacks.length.append(3)
        message.stacks.end.append(capture_pb2.STACK_END_COMPLETE)
        message.groups.add(comm=2, exe=1, main_mapping=1, processes=1)
        segment = message.segments.add(
            event=3, source=3, unit=4, support=capture_pb2.SUPPORT_OK, period=10_101_010,
            requested_period=10_101_010, stacks=True, duration_ns=5_000_000_000, samples=7, cpus=[0],
        )  # fmt: skip
        segment.profiles.add(group=0, stack_delta=[0], count=[7])
        return message


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("namer")
    (folder / "cube.h").write_text(HEADER)
    (folder / "app.c").write_text(SOURCE)

    def run(*command: str) -> str:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    run("gcc", "-O2", "-g", "-Wl,--build-id", "app.c", "-o", "whole")
    run("objcopy", "--only-keep-debug", "whole", "app.debug")
    run("objcopy", "--strip-debug", "whole", "app.symbols")
    run("objcopy", "--strip-all", "whole", "app")
    rows = [line.split() for line in run("nm", "whole").splitlines()]
    starts = {row[2]: int(row[0], 16) for row in rows if row[-1] in NAMED}
    imul = next(
        line
        for line in run("objdump", "-d", "--no-show-raw-insn", "--disassemble=work", "whole").splitlines()
        if "imul" in line
    )
    return Program(
        folder / "app", folder / "app.debug", folder / "app.symbols", starts, int(imul.split(":")[0], 16)
    )


@dataclass
class Bench:
    """A worker's parts, and captures of the program that wait for it."""

    engine: Engine
    archive: Archive
    folder: Path
    program: Program
    waiting: PendingCaptures
    asked: list[str]
    """Keys whose build was wanted."""

    def worker(
        self, *, at_once: bool = True, hook: Callable[[], None] = lambda: None
    ) -> tuple[Ingester, FunctionNamer, SymCacheBuilder]:
        """Parts with a memory of their own; `hook` is called when a capture was symbolized."""
        folder = self.folder / uuid4().hex
        source = make_sources(SourceSettings(folder, debug_roots=()), self.engine, self.archive)
        caches = fleet_symcaches(self.engine, self.archive, folder)
        wants = None if at_once else self.want
        resolver = HookedResolver(source, caches, request_build=wants)
        resolver.hook = hook
        return (
            Ingester(self.engine, self.archive, resolver),
            FunctionNamer(self.engine, source, caches, request_build=wants),
            SymCacheBuilder(self.engine, self.archive, source, folder),
        )

    def rich_lander(self, installed: Path) -> Ingester:
        """Of a machine that has a debug file nobody uploaded."""
        folder, key = self.folder / uuid4().hex, self.program.key
        debug = folder / ".build-id" / key[:2] / f"{key[2:]}.debug"
        debug.parent.mkdir(parents=True)
        shutil.copy(installed, debug)
        source = make_sources(SourceSettings(folder, debug_roots=(folder,)), self.engine, self.archive)
        resolver = Resolver(source, fleet_symcaches(self.engine, self.archive, folder))
        return Ingester(self.engine, self.archive, resolver)

    def want(self, identity: ImageIdentity) -> None:
        self.asked.append(identity.key)

    def archived(self, count: int) -> list[UUID]:
        found = []
        for _ in range(count):
            visit_id = uuid4()
            raw = self.program.capture(visit_id).SerializeToString()
            found.append(self.waiting.archive(raw, visit_id=visit_id))
        return found

    def ingest_due(self, ingester: Ingester) -> None:
        while due := self.waiting.due():
            ingester.ingest(due[0])

    def upload(self, path: Path, quality: Quality = Quality.DWARF) -> None:
        kind = FileKind.DEBUGINFO if quality == Quality.DWARF else FileKind.SYMBOLS
        candidates.add(
            self.engine, self.archive, Candidate(self.program.key, kind, quality, path, UPLOAD, path.name)
        )

    def names(self, visit_id: UUID) -> tuple[str, ...]:
        [(_, names)] = stored(self.engine, visit_id).stacks
        return names

    def generation(self, visit_id: UUID) -> int:
        return int(self.waiting.row(visit_id).ingested)

    def improved(self) -> list[str]:
        with self.engine.connect() as connection:
            return improved(connection, limit=9)

    def feed(self) -> list[UUID]:
        with self.engine.begin() as connection:
            return reprocessings.feed(connection)


class HookedResolver(Resolver):
    """Resolves, and lets a test do something before the capture is ingested."""

    hook: Callable[[], None]

    def resolve(self, message: capture_pb2.Capture) -> ResolvedFrames:
        found = super().resolve(message)
        self.hook()
        return found


@pytest.fixture
def bench(engine: Engine, archive: Archive, tmp_path: Path, program: Program) -> Bench:
    return Bench(engine, archive, tmp_path, program, PendingCaptures(engine, archive), [])


@pytest.mark.slow
def test_an_upload_names_at_once_and_brings_lines_with_the_next_generation(bench: Bench) -> None:
    ids = bench.archived(3)
    ingester, namer, _ = bench.worker()
    bench.ingest_due(ingester)
    assert {bench.names(id_) for id_ in ids} == {bench.program.names(*NAMED)}
    assert namer.name_functions(bench.program.key) == NOTHING

    bench.upload(bench.program.debug)
    assert bench.improved() == [bench.program.key]
    done = namer.name_functions(bench.program.key, "It was uploaded.")
    assert (done.functions, done.pending) == (3, False)
    assert {bench.names(id_) for id_ in ids} == {NAMED}
    assert {bench.generation(id_) for id_ in ids} == {1}

    assert sorted(bench.feed()) == sorted(ids)
    bench.ingest_due(ingester)  # it remembers the program without symbols, from before
    assert {bench.names(id_) for id_ in ids} == {INLINED}
    assert {bench.generation(id_) for id_ in ids} == {2}
    with bench.engine.connect() as connection:
        found = reprocessings.find(connection, done.reprocessing_id or 0)
        assert connection.scalar(select(line_chunk.c.facts).limit(1))
        assert connection.scalar(select(binary.c.status)) == "full"
    assert found is not None
    assert (found.renamed, found.captures, found.ingested, found.left, found.why) == (
        3,
        3,
        3,
        0,
        "It was uploaded.",
    )
    assert bench.improved() == []
    assert namer.name_functions(bench.program.key) == NOTHING, "the message may come twice"
    assert bench.feed() == []


def test_files_of_a_binary_are_those_of_its_functions_inlined_ones_among_them(bench: Bench) -> None:
    folder = bench.program.debug.parent
    (folder / "settings.py").touch()

    def files(key: str) -> set[str]:
        paths = (str(path) for path in folder.iterdir())
        with bench.engine.connect() as connection:
            return {Path(path).name for path in paths if is_built_from(connection, key, path)}

    bench.archived(1)
    ingester, *_ = bench.worker()
    bench.ingest_due(ingester)
    assert files(bench.program.key) == set()
    bench.upload(bench.program.debug)
    bench.archived(1)
    bench.ingest_due(bench.worker()[0])
    assert files(bench.program.key) == {"app.c", "cube.h"}
    assert files("00" * 20) == set()


def test_symbols_without_lines_bring_back_only_captures_that_lack_names(bench: Bench) -> None:
    first, *_ = bench.archived(1)
    ingester, namer, _ = bench.worker()
    bench.ingest_due(ingester)
    bench.upload(bench.program.symbols, Quality.SYMTAB)
    later, *_ = bench.archived(1)
    bench.ingest_due(ingester)
    assert bench.names(later) == NAMED
    assert namer.name_functions(bench.program.key).functions == 3
    assert bench.feed() == [first]
    bench.ingest_due(ingester)
    assert (bench.generation(first), bench.generation(later)) == (2, 1)
    assert bench.names(first) == NAMED


@pytest.mark.slow
def test_a_better_file_later_brings_all_of_them_back(bench: Bench) -> None:
    ids = bench.archived(2)
    ingester, namer, _ = bench.worker()
    bench.upload(bench.program.symbols, Quality.SYMTAB)
    bench.ingest_due(ingester)
    assert {bench.names(id_) for id_ in ids} == {NAMED}
    bench.upload(bench.program.debug)
    assert namer.name_functions(bench.program.key).reprocessing_id is not None
    bench.feed()
    bench.ingest_due(ingester)
    assert {bench.names(id_) for id_ in ids} == {INLINED}


def test_what_comes_while_a_capture_is_symbolized_is_ingested_with_it(bench: Bench) -> None:
    [visit_id] = bench.archived(1)
    _, namer, _ = bench.worker()
    came = iter([lambda: bench.upload(bench.program.debug)])

    def hook() -> None:
        for act in came:
            act()
            namer.name_functions(bench.program.key)

    ingester, *_ = bench.worker(hook=hook)
    bench.ingest_due(ingester)
    assert (bench.names(visit_id), bench.generation(visit_id)) == (INLINED, 1)


def test_what_comes_while_a_capture_is_symbolized_anew_is_ingested_with_it_too(bench: Bench) -> None:
    """The second symbolizing may take as long as the first, and no reprocessing finds an ingestion so late."""
    [visit_id] = bench.archived(1)
    came = iter(
        [
            lambda: bench.upload(bench.program.symbols, Quality.SYMTAB),
            lambda: bench.upload(bench.program.debug),
        ]
    )

    def hook() -> None:
        for act in came:
            act()
            return

    ingester, *_ = bench.worker(hook=hook)
    bench.ingest_due(ingester)
    assert (bench.names(visit_id), bench.generation(visit_id)) == (INLINED, 1)


def test_symbols_that_never_rest_keep_no_capture_from_ingestion(bench: Bench) -> None:
    [visit_id] = bench.archived(1)
    symbolized: list[Path] = []

    def hook() -> None:
        symbolized.append(bench.program.symbols)
        file = bench.folder / f"{len(symbolized)}.symbols"
        file.write_bytes(bench.program.symbols.read_bytes() + bytes(len(symbolized)))
        bench.upload(file, Quality.SYMTAB)

    ingester, *_ = bench.worker(hook=hook)
    bench.ingest_due(ingester)
    assert (bench.names(visit_id), bench.generation(visit_id)) == (NAMED, 1)
    assert len(symbolized) == 1 + MAX_REREADS


@pytest.mark.slow
def test_a_large_debug_file_names_by_its_symbols_until_it_is_built(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symbolizer.builds.estimate.DebugSize.seconds", property(lambda _: 1000.0))
    ids = bench.archived(2)
    ingester, namer, builder = bench.worker(at_once=False)
    bench.ingest_due(ingester)
    bench.upload(bench.program.debug)
    done = namer.name_functions(bench.program.key)
    assert (done.functions, done.pending, done.reprocessing_id) == (3, True, None)
    assert bench.asked == [bench.program.key]
    assert {bench.names(id_) for id_ in ids} == {NAMED}
    assert bench.improved() == [bench.program.key], "the build's message may be lost"

    builder.build(bench.program.key)
    assert namer.name_functions(bench.program.key).reprocessing_id is not None
    assert bench.improved() == []
    bench.feed()
    bench.ingest_due(ingester)
    assert {bench.names(id_) for id_ in ids} == {INLINED}


@pytest.mark.slow
def test_a_build_whose_worker_died_before_it_said_so_is_found(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debug data that nobody uploaded: found on this machine, and built by a task."""
    monkeypatch.setattr("symbolizer.builds.estimate.DebugSize.seconds", property(lambda _: 1000.0))
    [visit_id] = bench.archived(1)
    ingester, namer, builder = bench.worker(at_once=False)
    (bench.program.stripped.parent / ".debug").mkdir(exist_ok=True)
    bench.upload(bench.program.debug)
    bench.ingest_due(ingester)
    assert bench.names(visit_id) == NAMED
    with bench.engine.begin() as connection:  # as if the file had been on a debuginfod server
        connection.execute(text("UPDATE debug_file SET changed_at = changed_at - interval '9 days'"))
        connection.execute(update(capture).values(ingested_at=text("ingested_at - interval '1 hour'")))
    assert bench.improved() == []
    builder.build(bench.program.key)
    assert bench.improved() == [bench.program.key]
    assert namer.name_functions(bench.program.key).reprocessing_id is not None
    bench.feed()
    bench.ingest_due(ingester)
    assert bench.names(visit_id) == INLINED


def test_symbols_that_only_one_machine_turned_out_to_have_bring_captures_back(bench: Bench) -> None:
    """Nothing was uploaded: a package with symbols was installed where a worker runs."""
    [first] = bench.archived(1)
    poor, *_ = bench.worker()
    bench.ingest_due(poor)
    rich = bench.rich_lander(bench.program.symbols)
    [second] = bench.archived(1)
    bench.ingest_due(rich)
    assert bench.names(second) == NAMED
    assert bench.feed() == [first]
    bench.ingest_due(rich)
    assert (bench.names(first), bench.generation(first)) == (NAMED, 2)
    with bench.engine.connect() as connection:
        assert len(connection.execute(select(reprocessing)).all()) == 1, "and only once"


@pytest.mark.slow
@pytest.mark.parametrize("nameless", [True, False])
def test_lines_that_only_one_machine_has_bring_back_what_an_earlier_reprocessing_did_not(
    bench: Bench, nameless: bool
) -> None:
    """One for names, or one from before these lines were built, is no answer to them."""
    [first] = bench.archived(1)
    poor, *_ = bench.worker()
    bench.upload(bench.program.symbols, Quality.SYMTAB)
    bench.ingest_due(poor)
    with bench.engine.begin() as connection:
        reprocessings.begin(connection, bench.program.key, why="It was uploaded.", nameless=nameless)
    assert bench.feed() == ([] if nameless else [first])
    bench.ingest_due(poor)
    assert bench.names(first) == NAMED

    rich = bench.rich_lander(bench.program.debug)
    [second] = bench.archived(1)
    bench.ingest_due(rich)
    assert bench.names(second) == INLINED
    assert first in bench.feed()
    bench.ingest_due(rich)
    assert bench.names(first) == INLINED
    bench.ingest_due(rich)
    assert bench.feed() == [], "and only once"


def test_debug_data_of_a_kernel_module_brings_back_what_has_names_already(bench: Bench) -> None:
    """Its image follows from more than its key, so it is not opened to find out what it says."""
    ids = bench.archived(2)
    ingester, namer, _ = bench.worker()
    bench.upload(bench.program.symbols, Quality.SYMTAB)
    bench.ingest_due(ingester)
    assert {bench.names(id_) for id_ in ids} == {NAMED}
    with bench.engine.begin() as connection:
        connection.execute(update(binary).values(kind="module"))
    assert namer.name_functions(bench.program.key).reprocessing_id is not None
    assert bench.feed() == [], "symbols alone add nothing to them"
    bench.upload(bench.program.debug)
    assert namer.name_functions(bench.program.key).reprocessing_id is not None
    assert sorted(bench.feed()) == sorted(ids)


def test_what_is_of_no_use_changes_nothing(bench: Bench) -> None:
    bench.archived(1)
    ingester, namer, _ = bench.worker()
    bench.ingest_due(ingester)
    bench.upload(bench.program.stripped, Quality.DYNSYM)
    done = namer.name_functions(bench.program.key)
    assert (done.functions, done.reprocessing_id) == (0, None)


def test_a_binary_that_no_capture_holds_waits_for_one(bench: Bench) -> None:
    _, namer, _ = bench.worker()
    bench.upload(bench.program.debug)
    assert namer.name_functions(bench.program.key) == NOTHING
    assert bench.improved() == []
    with bench.engine.connect() as connection:
        assert captures.due(connection, limit=1) == []
        assert connection.execute(select(function)).all() == []


def test_the_sweep_calls_a_worker_for_what_nobody_was_told_of(bench: Bench) -> None:
    ids = bench.archived(2)
    ingester, namer, _ = bench.worker()
    bench.ingest_due(ingester)
    called: list[str] = []
    announcing = Dispatch(called.append, resend_s=300.0)
    assert sweep.announce_improved(bench.engine, announcing) == 0
    bench.upload(bench.program.debug)  # and the broker was away
    assert sweep.announce_improved(bench.engine, announcing) == 1
    assert sweep.announce_improved(bench.engine, announcing) == 0, "not again at once"
    assert called == [bench.program.key]
    assert sweep.reprocess_improved(bench.engine) == 0
    namer.name_functions(called[0])
    assert sweep.reprocess_improved(bench.engine) == len(ids)
    assert sweep.reprocess_improved(bench.engine) == 0
