"""Uploads as a source of symbols: ranking, verification, copies on this machine, and all places as one."""

import logging
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select

from storage.archive import Archive
from storage.symbols import candidates, recent_changes, symbol_blobs
from storage.symbols.candidates import UPLOAD, Added, Candidate
from symbolizer.addresses import ElfVaddrs, FileOffsets
from symbolizer.builds.builder import SymCacheBuilder
from symbolizer.builds.outcome import Built
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.inspection.inspection import Inspection, inspect
from symbolizer.sources.chain import SourceSettings, make_sources
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.joined_source import JoinedSource
from symbolizer.sources.layout import layout_of
from symbolizer.sources.source import Found, Missing
from symbolizer.sources.symbol_store_source import Uploaded

pytestmark = pytest.mark.integration

SOURCE = """
static inline __attribute__((always_inline)) int square(int x) { return x * x + 1; }
__attribute__((noinline)) int work(int n) { int sum = 0; while (n--) sum ^= square(n); return sum; }
int main(int argc, char **argv) { return work(argc) & 1; }
"""


class Programs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "program.c").write_text(SOURCE)

    def run(self, *command: str) -> None:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def compiled(self, name: str, *options: str) -> Path:
        self.run("gcc", "-O2", "-g", *options, "program.c", "-o", name)
        return self.folder / name

    def copied(self, whole: Path, name: str, *options: str) -> Path:
        self.run("objcopy", *options, whole.name, name)
        return self.folder / name


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    folder = tmp_path / "programs"
    folder.mkdir()
    return Programs(folder)


@pytest.fixture
def uploaded(engine: Engine, archive: Archive, tmp_path: Path) -> Uploaded:
    return Uploaded(engine, archive, DownloadFolder(tmp_path / "copies"))


@pytest.fixture
def everywhere(engine: Engine, archive: Archive, tmp_path: Path) -> JoinedSource:
    return make_sources(SourceSettings(tmp_path / "cache", debug_roots=()), engine, archive)


def inspected(path: Path) -> Inspection:
    with OpenedFile(path) as content:
        return inspect(content)


def upload(engine: Engine, archive: Archive, path: Path) -> Inspection:
    what = inspected(path)
    add(engine, archive, path, what)
    return what


def add(engine: Engine, archive: Archive, path: Path, what: Inspection) -> Added:
    candidate = Candidate(what.key, what.kind, what.quality, path, UPLOAD, path.name, needs=what.needs)
    return candidates.add(engine, archive, candidate)


def elsewhere(path: Path) -> ImageIdentity:
    """The program as a gateway on another machine saw it."""
    what = inspected(path)
    return ImageIdentity(
        what.key,
        path.name,
        f"/srv/nowhere/{path.name}",
        bytes.fromhex(what.build_id),
        "" if what.build_id else what.key,
    )


def opened(found: Found | Missing) -> Found:
    assert isinstance(found, Found), found
    return found


def test_the_best_upload_wins_whatever_came_first(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    whole = programs.compiled("program")
    who = elsewhere(whole)
    assert isinstance(uploaded.debug_file(who, None), Missing)
    upload(engine, archive, programs.copied(whole, "bare", "--strip-all"))
    upload(engine, archive, programs.copied(whole, "named", "--strip-debug"))
    debug = upload(engine, archive, programs.copied(whole, "debug", "--only-keep-debug"))
    with opened(uploaded.debug_file(who, None)).content as best:
        assert best[0:1] == b"\x7f"
        assert len(best) == debug.bytes
    image = opened(uploaded.executable(who))
    with image.content:
        assert image.elf.has_layout
        assert opened(uploaded.debug_file(who, image)).sha256.hex() == debug.sha256


def test_a_rejected_upload_gives_way_to_the_next(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    whole = programs.compiled("program")
    bad = upload(engine, archive, whole)
    good = upload(engine, archive, programs.copied(whole, "debug", "--only-keep-debug"))
    with engine.begin() as connection:
        candidates.reject(connection, bad.key, bytes.fromhex(bad.sha256), "A build from it failed.")
    found = opened(uploaded.debug_file(elsewhere(whole), None))
    with found.content:
        assert found.sha256.hex() == good.sha256


def test_an_upload_that_says_no_more_than_the_program_is_not_fetched(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    whole = programs.compiled("program")
    upload(engine, archive, programs.copied(whole, "named", "--strip-debug"))
    upload(engine, archive, whole)
    with opened(uploaded.executable(elsewhere(whole))).content:
        pass
    at_hand = opened(uploaded.executable(elsewhere(whole)))
    with at_hand.content:
        assert isinstance(uploaded.debug_file(elsewhere(whole), at_hand), Missing)


def test_without_a_build_id_the_debug_file_is_found_by_its_checksum(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    whole = programs.compiled("program", "-Wl,--build-id=none")
    debug = programs.copied(whole, "program.debug", "--only-keep-debug")
    bare = programs.copied(whole, "bare", "--strip-all", f"--add-gnu-debuglink={debug}")
    upload(engine, archive, bare)
    assert upload(engine, archive, debug).key.startswith("crc32:")
    image = opened(uploaded.executable(elsewhere(bare)))
    with image.content:
        found = opened(uploaded.debug_file(elsewhere(bare), image))
    with found.content:
        assert found.elf.has_dwarf


def test_a_lost_or_changed_blob_is_missing_with_its_reason(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded, caplog: pytest.LogCaptureFixture
) -> None:
    what = upload(engine, archive, programs.compiled("program"))
    archive.delete(symbol_blobs.key_of(bytes.fromhex(what.sha256)))
    with caplog.at_level(logging.ERROR):
        missing = uploaded.executable(elsewhere(programs.folder / "program"))
    assert isinstance(missing, Missing)
    assert "lost" in missing.reason


def test_what_was_fetched_once_needs_no_archive(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    what = upload(engine, archive, programs.compiled("program"))
    opened(uploaded.executable(elsewhere(programs.folder / "program"))).content.close()
    archive.delete(symbol_blobs.key_of(bytes.fromhex(what.sha256)))
    opened(uploaded.executable(elsewhere(programs.folder / "program"))).content.close()


def test_a_copy_that_is_used_is_noted_as_used(
    engine: Engine, archive: Archive, programs: Programs, uploaded: Uploaded
) -> None:
    what = upload(engine, archive, programs.compiled("program"))
    opened(uploaded.executable(elsewhere(programs.folder / "program"))).content.close()
    with engine.connect() as connection:
        assert candidates.find(connection, what.key, bytes.fromhex(what.sha256)).used_at is not None


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dwo", "dwp", "dwz"])
def test_all_parts_of_debug_data_may_be_uploads(
    engine: Engine, archive: Archive, programs: Programs, everywhere: JoinedSource, form: str
) -> None:
    """A machine that has nothing of the program joins what others uploaded."""
    if form == "dwz":
        for name in ("program", "other"):
            programs.compiled(name, *(["-DSTEP"] if name == "other" else []))
        programs.run("dwz", "-m", "common", "program", "other")
        parts = ["program", "common"]
    else:
        programs.compiled("program", "-gsplit-dwarf", "-gdwarf-4")
        if form == "dwp":
            programs.run("dwp", "-e", "program", "-o", "program.dwp")
        parts = ["program", "program.dwp" if form == "dwp" else "program.dwo"]
    who = elsewhere(programs.folder / "program")
    alone = upload(engine, archive, programs.folder / parts[0])
    away = programs.folder / "away"
    away.mkdir()
    for path in [path for path in programs.folder.iterdir() if path.is_file()]:
        path.rename(away / path.name)  # where the compiler put the other half, this machine finds it
    with opened(everywhere.executable(who)).content as content:
        assert len(content) == alone.bytes
    upload(engine, archive, away / parts[1])
    whole = opened(everywhere.executable(who))
    with whole.content:
        assert whole.elf.has_dwarf
        assert whole.quality == 3
        assert " with " in whole.origin
        symbols = read_symbols(whole.elf)
        assert symbols.find_name("work") >= 0


def test_a_debug_file_alone_names_functions_by_offset(
    engine: Engine, archive: Archive, programs: Programs, everywhere: JoinedSource
) -> None:
    whole = programs.compiled("program")
    upload(engine, archive, programs.copied(whole, "debug", "--only-keep-debug"))
    who = elsewhere(whole)
    assert isinstance(everywhere.executable(who), Missing)
    found = opened(everywhere.debug_file(who, None))
    with found.content:
        layout = layout_of(found.elf)
        assert not isinstance(layout, Missing)
        symbols = read_symbols(found.elf)
        content = ElfFile(whole.read_bytes())
        start = symbols.symbol(symbols.find_name("work")).start
        code = next(s for s in content.segment_map.segments if s.executable)
        offset = FileOffsets(np.array([start - code.vaddr + code.offset], np.uint64))
        assert layout.to_vaddrs(offset).values.tolist() == [start]


def changed_since(engine: Engine, moment: datetime) -> set[str]:
    with engine.connect() as connection:
        return {
            key for key, at in recent_changes.changed_since(connection, moment).changed.items() if at > moment
        }


def now(engine: Engine) -> datetime:
    with engine.connect() as connection:
        return connection.execute(select(func.clock_timestamp())).scalar_one()


def test_the_last_of_its_parts_completes_a_program(
    engine: Engine, archive: Archive, programs: Programs
) -> None:
    """Parts come in any order; the program is built again when nothing is lacking, not for each of them."""
    (programs.folder / "more.c").write_text("int more(int n) { return n + 1; }")
    programs.run("gcc", "-g", "-gsplit-dwarf", "program.c", "more.c", "-o", "program")
    what = upload(engine, archive, programs.folder / "program")
    first, second = sorted(programs.folder.glob("*.dwo"))
    before = now(engine)
    assert add(engine, archive, first, inspected(first)).completes == ()
    assert what.key not in changed_since(engine, before)
    assert add(engine, archive, second, inspected(second)).completes == (what.key,)
    assert what.key in changed_since(engine, before)
    assert add(engine, archive, second, inspected(second)).completes == ()


def test_a_package_and_common_data_complete_at_once(
    engine: Engine, archive: Archive, programs: Programs
) -> None:
    programs.compiled("split", "-gsplit-dwarf", "-gdwarf-4")
    programs.run("dwp", "-e", "split", "-o", "split.dwp")
    for name in ("one", "two"):
        programs.compiled(name, *(["-O1"] if name == "two" else []))
    programs.run("dwz", "-m", "common", "one", "two")
    keys = [upload(engine, archive, programs.folder / name).key for name in ("split", "one", "two")]
    package, common = (programs.folder / name for name in ("split.dwp", "common"))
    assert add(engine, archive, package, inspected(package)).completes == (keys[0],)
    assert add(engine, archive, common, inspected(common)).completes == tuple(sorted(keys[1:]))


def test_what_was_built_before_its_common_data_came_is_built_again(
    engine: Engine, archive: Archive, programs: Programs, everywhere: JoinedSource, tmp_path: Path
) -> None:
    """Inlined functions have no names until what dwz moved out is there."""
    programs.compiled("one")
    programs.compiled("two", "-O1")
    programs.run("dwz", "-m", "common", "one", "two")
    away = programs.folder / "away"
    away.mkdir()
    common = (programs.folder / "common").rename(away / "common")
    what = upload(engine, archive, programs.folder / "one")
    builder = SymCacheBuilder(engine, archive, everywhere, tmp_path / "cache")

    def inlined() -> set[str]:
        built = builder.build(what.key)
        assert isinstance(built, Built)
        symbols = built.symbols
        start, end = (symbols.symbols.symbol(symbols.symbols.find_name("work")).start + n for n in (0, 60))
        addresses = ElfVaddrs(np.arange(start, end, dtype=np.uint64)).relative_to(symbols.base)
        return {
            symbols.table.location(at).function for at in symbols.table.chains(addresses).locations.tolist()
        }

    assert "square" not in inlined()
    add(engine, archive, common, inspected(common))
    assert "square" in inlined()
