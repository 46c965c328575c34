"""A real debuginfod server: what it serves is found, verified, kept, and what it lacks is noted.

debuginfod 0.188 listens on every interface and cannot be told otherwise; what it serves here is a program
made for the test, for as long as the test runs.
"""

import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.archive import Archive
from storage.symbols.absences import known_absence, known_absences
from symbolizer.elf.file import ElfFile
from symbolizer.identity import ImageIdentity
from symbolizer.source_text.roots import SourceRoot
from symbolizer.source_text.text import FetchLimits, NotNow, SourceText, SourceTexts
from symbolizer.sources.chain import SourceSettings, make_sources
from symbolizer.sources.debuginfod import Debuginfod
from symbolizer.sources.debuginfod_client import DebuginfodClient, DownloadLimits
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.opened_elf import open_elf
from symbolizer.sources.source import Found, Missing
from tests.memory_negative_cache import MemoryNegativeCache
from tests.polling import until

pytestmark = pytest.mark.integration

SOURCE = """
#ifndef STEP
#define STEP 1
#endif
__attribute__((noinline)) int work(int n) { int sum = 0; while (n--) sum += sum ^ n * STEP; return sum; }
int main(int argc, char **argv) { return work(argc) & 1; }
"""


@dataclass(frozen=True)
class Served:
    url: str
    source: Path
    build_id: bytes
    alternate: bytes
    """Build-id of what dwz moved out of two other programs."""

    def identity(self, path: str = "/srv/nowhere/program") -> ImageIdentity:
        return ImageIdentity(self.build_id.hex(), "program", path, self.build_id, "")


def build_id(path: Path) -> bytes:
    return ElfFile(path.read_bytes()).build_id


def make_store(folder: Path) -> tuple[Path, bytes, bytes]:
    """Files as a distribution has them: a stripped program and its debug file; the source beside."""

    def run(*command: str) -> None:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    source = folder / "program.c"
    source.write_text(SOURCE)
    run("gcc", "-O2", "-g", str(source), "-o", "whole")
    run("objcopy", "--only-keep-debug", "whole", "program.debug")
    run("objcopy", "--strip-all", "whole", "program")
    for name, step in (("one", 3), ("two", 5)):
        run("gcc", "-O2", "-g", f"-DSTEP={step}", str(source), "-o", name)
    (folder / "whole").unlink()
    run("dwz", "-m", "common.dwz", "one", "two")
    return source, build_id(folder / "program"), build_id(folder / "common.dwz")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if not (shutil.which("debuginfod") and shutil.which("gcc") and shutil.which("dwz")):
        pytest.skip("debuginfod, gcc or dwz is not installed")
    folder = tmp_path_factory.mktemp("served")
    source, program, alternate = make_store(folder)
    with start(folder, tmp_path_factory.mktemp("index")) as server:
        url, process = server
        served = Served(url, source, program, alternate)
        client = DebuginfodClient(url)
        for wanted in (program, alternate):
            until(lambda wanted=wanted: answers(client.url(wanted, "debuginfo"), process))
        yield served


class start:  # noqa: N801 - reads as a statement
    """A server on a port that was free; another one if somebody else took it meanwhile."""

    def __init__(self, folder: Path, index: Path) -> None:
        self._folder, self._index = folder, index
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> tuple[str, subprocess.Popen[bytes]]:
        for _ in range(10):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            process = self._process = subprocess.Popen(
                ["debuginfod", "-p", str(port), "-d", str(self._index / "index.sqlite"), "-c", "1", "-g", "0",
                 "-F", str(self._folder)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, "DEBUGINFOD_URLS": "", "TMPDIR": str(self._index)},
            )  # fmt: skip
            url = f"http://127.0.0.1:{port}"
            until(lambda process=process, url=url: process.poll() is not None or answers(f"{url}/metrics"))
            if process.poll() is None:
                return url, process
        pytest.fail("debuginfod does not start")

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def answers(url: str, process: subprocess.Popen[bytes] | None = None) -> bool:
    assert process is None or process.poll() is None, "debuginfod ended"
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def source(served: Served, tmp_path: Path) -> Debuginfod:
    return Debuginfod(
        [DebuginfodClient(served.url)], MemoryNegativeCache(), DownloadFolder(tmp_path / "kept")
    )


def closed(found: Found | Missing) -> Found:
    """The file, its headers read and then closed."""
    assert isinstance(found, Found), found
    with found.content:
        assert found.elf.build_id
        assert found.elf.section_names
    return found


def test_program_and_debug_file_are_found_by_build_id(served: Served, source: Debuginfod) -> None:
    found = source.executable(served.identity())
    assert isinstance(found, Found)
    with found.content:
        assert found.elf.build_id == served.build_id
        assert not found.elf.has_dwarf
        debug = closed(source.debug_file(served.identity(), found))
    assert debug.elf.has_dwarf
    assert debug.origin.startswith(served.url)


def test_what_was_fetched_is_at_hand_when_the_server_is_gone(
    served: Served, source: Debuginfod, tmp_path: Path
) -> None:
    closed(source.debug_file(served.identity(), None))
    away = Debuginfod(
        [DebuginfodClient("http://127.0.0.1:9")], MemoryNegativeCache(), DownloadFolder(tmp_path / "kept")
    )
    assert closed(away.debug_file(served.identity(), None)).elf.has_dwarf


def test_what_dwz_moved_out_is_found_by_its_own_build_id(served: Served, source: Debuginfod) -> None:
    one = open_elf(served.source.parent / "one")
    assert isinstance(one, Found)
    with one.content:
        assert one.elf.alt_link is not None
        assert one.elf.alt_link.build_id == served.alternate
        assert closed(source.alternate(one.elf.alt_link, one)).elf.build_id == served.alternate


def test_an_unknown_build_is_missing_and_noted_for_the_fleet(
    served: Served, engine: Engine, archive: Archive, tmp_path: Path
) -> None:
    places = SourceSettings(tmp_path, debug_roots=(), debuginfod_urls=(served.url,))
    chain = make_sources(places, engine, archive)
    nobodys = b"\x77" * 20
    missing = chain.debug_file(ImageIdentity(nobodys.hex(), "x", "/srv/x", nobodys, ""), None)
    assert isinstance(missing, Missing)
    assert "does not have it" in missing.reason
    with engine.connect() as connection:
        absence = known_absence(connection, nobodys.hex(), "debuginfo", served.url)
    assert absence is not None
    assert closed(chain.debug_file(served.identity(), None)).elf.has_dwarf


def test_a_download_over_the_limit_is_refused_and_nothing_kept(served: Served, tmp_path: Path) -> None:
    client = DebuginfodClient(served.url, limits=DownloadLimits(bytes=1000))
    source = Debuginfod([client], MemoryNegativeCache(), DownloadFolder(tmp_path / "kept"))
    missing = source.debug_file(served.identity(), None)
    assert isinstance(missing, Missing)
    assert "1000" in missing.reason
    assert not [path for path in (tmp_path / "kept").iterdir() if not path.name.startswith(".lock")]


def test_sources_come_from_the_server_and_are_kept_by_content(
    served: Served, engine: Engine, archive: Archive, tmp_path: Path
) -> None:
    texts = SourceTexts(engine, archive, servers=[DebuginfodClient(served.url)], folder=tmp_path)
    text = texts.find(served.build_id.hex(), str(served.source))
    assert isinstance(text, SourceText)
    assert text.text == SOURCE
    assert text.origin.startswith(served.url)
    alone = SourceTexts(engine, archive, folder=tmp_path)
    kept = alone.find(served.build_id.hex(), str(served.source))
    assert isinstance(kept, SourceText)
    assert (kept.text, kept.sha256) == (SOURCE, text.sha256)
    assert isinstance(texts.find(served.build_id.hex(), "/srv/no/such.c"), Missing)
    assert isinstance(alone.find("00" * 20, str(served.source)), Missing)


def test_what_readers_have_fetched_is_limited_in_number_and_bytes(
    served: Served, engine: Engine, archive: Archive, tmp_path: Path
) -> None:
    key = served.build_id.hex()

    def texts(limits: FetchLimits) -> SourceTexts:
        return SourceTexts(
            engine, archive, servers=[DebuginfodClient(served.url)], folder=tmp_path, limits=limits
        )

    # There is no room: it is shown, and nothing is kept.
    full = texts(FetchLimits(kept_bytes=len(SOURCE) - 1, per_hour=2))
    for _ in range(2):
        assert isinstance(full.find(key, str(served.source)), SourceText)
    assert list(archive.keys("symbols")) == []
    refused = full.find(key, str(served.source))
    assert isinstance(refused, NotNow)
    assert 0 < refused.retry_s <= 3600
    # What is not there counts, too, and leaves no note beyond the limit.
    once = texts(FetchLimits(per_hour=1))
    assert isinstance(once.find(key, "/srv/no/such.c"), Missing)
    assert isinstance(once.find(key, "/srv/no/other.c"), NotNow)
    with engine.connect() as connection:
        assert [each.kind for each in known_absences(connection, key)] == ["source:/srv/no/such.c"]
    # With room it is kept once, and found without asking again.
    roomy = texts(FetchLimits(kept_bytes=len(SOURCE), per_hour=1))
    assert isinstance(roomy.find(key, str(served.source)), SourceText)
    assert isinstance(roomy.find(key, str(served.source)), SourceText)
    assert len(list(archive.keys("symbols"))) == 1


def test_a_checkout_is_read_where_no_server_may_be_asked(
    engine: Engine, archive: Archive, tmp_path: Path
) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    texts = SourceTexts(
        engine,
        archive,
        servers=[DebuginfodClient("http://127.0.0.1:9")],
        folder=tmp_path,
        roots=[SourceRoot("/build", tmp_path)],
        limits=FetchLimits(per_hour=0),
    )
    assert isinstance(texts.find("00" * 20, "/build/a.c"), SourceText)
    assert isinstance(texts.find("00" * 20, "/build/b.c"), NotNow)
