import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from symbolizer.addresses import CacheAddresses, FileOffsets
from symbolizer.builds import child as build_child
from symbolizer.builds.build import BuildLimits, build_input
from symbolizer.builds.local_ledger import LocalLedger
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.builds.symcaches import SymCaches, local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHT_SYMTAB, STT_FUNC
from symbolizer.files import OpenedFile
from symbolizer.images.elf_image import ElfImage
from symbolizer.sources.source import Found

KEY = "ab" * 20


def opened(path: Path) -> Found:
    content = OpenedFile(path)
    return Found(content, ElfFile(content), str(path))


@pytest.fixture
def source(programs) -> Iterator[Found]:
    found = opened(programs.pie)
    with found.content:
        yield found


@pytest.fixture
def broken(programs) -> Iterator[Found]:
    """An ELF file in order, whose DWARF is noise."""
    (programs.folder / "noise").write_bytes(bytes(range(256)) * 64)
    programs.run("objcopy", "--update-section", ".debug_info=noise", str(programs.pie), "broken")
    found = opened(programs.folder / "broken")
    with found.content:
        yield found


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def build(caches: SymCaches, found: Found, key: str = KEY) -> Built | NotBuilt:
    return caches.build(key, build_input(found, found))


def test_what_is_built_once_is_found_by_everyone(source: Found, tmp_path: Path) -> None:
    caches = local_symcaches(tmp_path)
    assert caches.find(KEY) is None
    assert isinstance(build(caches, source), Built)
    again = local_symcaches(tmp_path).find(KEY)
    assert isinstance(again, Built)
    assert again.symbols.segments == source.elf.segment_map
    assert again.symbols.origin == source.origin
    addresses = CacheAddresses(np.arange(0x1000, 0x1400, dtype=np.uint64))
    assert len(again.symbols.table.chains(addresses).locations) > 0


def test_a_patched_executable_has_the_lines_of_its_debug_file(programs, tmp_path: Path) -> None:
    """patchelf puts a segment before the others of an executable, which its debug file knows nothing of."""
    programs.run("objcopy", "--only-keep-debug", str(programs.fixed), "fixed.debug")
    programs.run("objcopy", "--strip-all", str(programs.fixed), "fixed.patched")
    patched = programs.folder / "fixed.patched"
    content = bytearray(patched.read_bytes())
    lower = programs_base(patched) - 0x1000
    (at,) = struct.unpack_from("<Q", content, 0x20)
    struct.pack_into(
        "<IIQQQQQQ", content, at, 1, 4, 0, lower, lower, 64, 64, 0x1000
    )  # PT_PHDR is now PT_LOAD
    patched.write_bytes(content)
    assert programs_base(patched) == lower
    debug, executable = opened(programs.folder / "fixed.debug"), opened(patched)
    with debug.content, executable.content:
        built = local_symcaches(tmp_path).build(KEY, build_input(debug, executable))
    assert isinstance(built, Built)
    symbols = built.symbols
    image = ElfImage("fixed", symbols.segments, symbols.table, symbols.symbols, "", base=symbols.base)
    rows = map(str.split, programs.run("nm", "-S", str(programs.fixed)).splitlines())
    sizes = {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}
    for name in ("work", "main", "give_up"):
        start, size = sizes[name]
        for vaddr in range(start, start + size):
            frames = image.frames(FileOffsets(np.array([vaddr - 0x400000], np.uint64)))
            function, line = frames.names[int(frames.entries[-1])]
            told = programs.run("addr2line", "-f", "-i", "-e", str(programs.fixed), hex(vaddr)).split()
            assert (function.name, line) == (told[-2], int(told[-1].rpartition(":")[2])), hex(vaddr)


def programs_base(path: Path) -> int:
    return ElfFile(path.read_bytes()).segment_map.base


def test_keys_that_are_no_file_names_are_keys_too(source: Found, tmp_path: Path) -> None:
    caches = local_symcaches(tmp_path)
    for key in ("go:a/b/../../c", "sha256:" + "0" * 64, "path:/etc/passwd", "x" * 5000):
        assert isinstance(build(caches, source, key), Built)
        assert isinstance(caches.find(key), Built)
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len([path for path in made if path.suffix == ".built"]) == 1  # the same content
    assert not list(tmp_path.rglob(".unfinished-*"))


def test_a_failure_is_remembered_for_a_while_with_its_reason(broken: Found, tmp_path: Path) -> None:
    clock = Clock()
    caches = SymCaches(
        SymbolCacheFolder(tmp_path),
        LocalLedger(tmp_path, clock=clock),
        limits=BuildLimits(failure_lifetime_s=60),
        clock=clock,
    )
    failed = build(caches, broken)
    assert isinstance(failed, NotBuilt)
    assert "debug data" in failed.reason
    assert failed.until == 1060
    note = next(tmp_path.rglob("*.json"))
    written = note.stat().st_mtime_ns
    assert build(caches, broken) == failed
    assert caches.find(KEY) == failed
    assert note.stat().st_mtime_ns == written
    clock.now = 1061
    assert caches.find(KEY) is None
    assert isinstance(build(caches, broken), NotBuilt)
    assert note.stat().st_mtime_ns != written


def test_another_file_is_tried_even_while_a_failure_is_fresh(
    broken: Found, source: Found, tmp_path: Path
) -> None:
    caches = local_symcaches(tmp_path)
    assert isinstance(build(caches, broken), NotBuilt)
    assert isinstance(build(caches, source), Built)


def test_a_better_file_replaces_what_was_built_before(programs, source: Found, tmp_path: Path) -> None:
    caches = local_symcaches(tmp_path)
    first = build(caches, source)
    other = opened(programs.compiled("fixed", "-no-pie"))
    with other.content:
        second = build(caches, other)
    assert isinstance(first, Built)
    assert isinstance(second, Built)
    assert first.entry != second.entry
    found = caches.find(KEY)
    assert isinstance(found, Built)
    assert found.entry == second.entry


@pytest.mark.parametrize(
    "limits",
    [
        BuildLimits(memory_bytes=1 << 20),
        BuildLimits(seconds_fixed=0),
        BuildLimits(output_fixed_bytes=1000, output_per_byte=0),
    ],
)
def test_a_builder_at_its_limit_is_a_failure_of_that_file_only(
    source: Found, tmp_path: Path, limits: BuildLimits
) -> None:
    failed = build(local_symcaches(tmp_path, limits=limits), source)
    assert isinstance(failed, NotBuilt)
    assert source.origin in failed.reason
    assert not list(tmp_path.rglob(".unfinished-*"))


@pytest.mark.slow
def test_a_file_that_is_damaged_is_built_again(source: Found, tmp_path: Path) -> None:
    caches = local_symcaches(tmp_path)
    build(caches, source)
    path = next(tmp_path.rglob("*.built"))
    whole = path.read_bytes()
    header_at = int.from_bytes(whole[16:24], "little")
    for damage in (
        b"",
        b"fpsymbol",
        whole[:200],
        whole[:header_at],
        whole[: header_at + 9],
        bytes(len(whole)),
    ):
        path.write_bytes(damage)
        assert caches.find(KEY) is None
        assert not path.exists()
        assert isinstance(build(caches, source), Built)
        assert path.read_bytes() == whole


def test_only_one_builds_at_a_time(programs, tmp_path: Path) -> None:
    caches = local_symcaches(tmp_path)
    outcomes: list[Built | NotBuilt] = []
    written: set[int] = set()

    def one() -> None:
        found = opened(programs.pie)
        with found.content:
            outcomes.append(build(caches, found))
            written.add(next(tmp_path.rglob("*.json")).stat().st_ino)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in outcomes] == [Built] * 4
    assert len(written) == 1  # one note, never replaced


def test_what_the_disk_refuses_is_no_failure_of_the_file(source: Found, tmp_path: Path) -> None:
    ledger = LocalLedger(tmp_path)
    folder = SymbolCacheFolder(tmp_path)
    full = tmp_path / "full"
    full.symlink_to("/dev/full")  # a link, for it is removed in the end
    folder.new_file = lambda: full  # type: ignore[method-assign]
    with pytest.raises(OSError, match="No space left"):
        build(SymCaches(folder, ledger), source)
    assert ledger.find(KEY) is None
    assert isinstance(build(local_symcaches(tmp_path), source), Built)


def test_a_debug_file_alone_is_enough(programs, tmp_path: Path) -> None:
    programs.run("objcopy", "--only-keep-debug", str(programs.fixed), "alone.debug")
    found = opened(programs.folder / "alone.debug")
    with found.content, opened(programs.fixed).content as content:
        built = local_symcaches(tmp_path).build(KEY, build_input(found, None))
        executable = [segment for segment in ElfFile(content).segment_map.segments if segment.executable]
    assert isinstance(built, Built)
    [code] = [segment for segment in built.symbols.segments.segments if segment.executable]
    assert (code.offset, code.vaddr) == (executable[0].offset, executable[0].vaddr)
    assert not built.symbols.symbols.is_stripped


def test_the_builder_refuses_what_is_not_elf(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "out").touch()
    with OpenedFile(tmp_path / "text") as content:
        request = build_child.Request(str(tmp_path / "out"), 1 << 30, 10, 1 << 20, "text", content.descriptor)
        done = subprocess.run(
            [sys.executable, "-m", build_child.__name__, *request.arguments()],
            pass_fds=[content.descriptor],
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == build_child.REFUSED
    assert "ELF" in done.stderr
    assert not (tmp_path / "out").read_bytes()


@pytest.mark.slow
def test_symbols_that_share_one_name_do_not_fill_the_disk(programs, tmp_path: Path) -> None:
    """GIVEN debug data and 100,000 symbols with a name of 60,000 bytes THEN the built file is not one of 6 GB."""
    whole = bytearray(programs.pie.read_bytes())
    elf = ElfFile(bytes(whole))
    [table] = np.flatnonzero(elf.sections["type"] == SHT_SYMTAB)
    text = int(elf.sections["link"][table])
    [(records, _)] = elf.symbols(SHT_SYMTAB)
    function = records[(records["info"] & 15 == STT_FUNC) & (records["size"] > 0)][0]
    many = np.repeat(function.reshape(1), 100_000)
    many["value"] += np.arange(len(many), dtype=np.uint64)
    many["name"] = 1 + np.arange(len(many)) % 100
    names = b"\0" + b"n" * 60_000 + b"\0"
    sections = elf.sections.copy()
    for index, content in ((table, many.tobytes()), (text, names)):
        sections["offset"][index], sections["size"][index] = len(whole), len(content)
        whole += content
    at = int.from_bytes(whole[40:48], "little")
    whole[at : at + sections.nbytes] = sections.tobytes()
    path = tmp_path / "shared"
    path.write_bytes(whole)
    found = opened(path)
    with found.content:
        built = build(local_symcaches(tmp_path / "cache"), found)
    assert isinstance(built, NotBuilt)
    assert "File too large" in built.reason
    assert not [
        path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size > 1 << 20
    ]
