import errno
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fleetpb import capture_pb2
from storage.ingest.symbolized import Status
from symbolizer.addresses import FileOffsets
from symbolizer.builds.build import build_input
from symbolizer.builds.local_ledger import LocalLedger
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.builds.symcaches import SymCaches, local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.identity import ImageIdentity
from symbolizer.images.image import Image
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, parse_kallsyms
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.source import Found, Missing
from symbolizer.tables.symcache import _COUNTS_AT, _HEADER_WORDS

Mapping = capture_pb2.Mapping
BUILD = b"\x0b" * 20
KERNEL = KernelIdentity(BUILD)
BEFORE = b"ffffffff81000000 T _stext\n"
AFTER = BEFORE + b"ffffffffc0200000 t nf_hook\t[nf_tables]\n"


class Counting:
    """This machine's files and a kernel that loads a module; counts what is asked."""

    def __init__(self, debug_root: Path) -> None:
        self._files = LocalFiles(debug_roots=[debug_root])
        self.asked: list[str] = []
        self.kallsyms: bytes | None = BEFORE

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        self.asked.append(identity.name)
        return self._files.executable(identity)

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        return self._files.debug_file(identity, executable)

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        self.asked.append("kernel")
        if self.kallsyms is None:
            return Missing("hidden")
        return parse_kallsyms(self.kallsyms, {"nf_tables": 0xFFFFFFFFC0200000})

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        return Missing("no vdso here")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def source(tmp_path: Path) -> Counting:
    return Counting(tmp_path / "debug")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def images(source: Counting, clock: Clock, tmp_path: Path) -> Images:
    return Images(source, local_symcaches(tmp_path / "cache"), capacity=2, recheck_s=60, clock=clock)


def program(path: Path) -> ImageIdentity:
    build_id = ElfFile(path.read_bytes()).build_id
    return ImageIdentity(build_id.hex(), path.name, str(path), build_id, "")


def module(name: str) -> ImageIdentity:
    return ImageIdentity(f"path:[{name}]", f"[{name}]", f"[{name}]", b"", "")


def test_what_is_known_in_full_is_looked_for_once(
    programs, source: Counting, images: Images, clock: Clock
) -> None:
    first = images.open(Mapping.FILE, program(programs.pie), KERNEL)
    clock.now = 1e9
    assert images.open(Mapping.FILE, program(programs.pie), KERNEL) is first
    assert first.status == Status.FULL
    assert source.asked == ["pie"]


def test_what_is_not_is_looked_for_again_after_a_while(
    programs, source: Counting, images: Images, clock: Clock, tmp_path: Path
) -> None:
    bare = programs.stripped("waiting")
    assert images.open(Mapping.FILE, program(bare), KERNEL).status == Status.BINARY_ONLY
    hex_id = program(bare).build_id.hex()
    target = tmp_path / "debug" / ".build-id" / hex_id[:2] / f"{hex_id[2:]}.debug"
    target.parent.mkdir(parents=True)
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), str(target))
    assert images.open(Mapping.FILE, program(bare), KERNEL).status == Status.BINARY_ONLY
    clock.now = 61
    assert images.open(Mapping.FILE, program(bare), KERNEL).status == Status.FULL
    assert source.asked == ["waiting", "waiting"]


def test_the_least_used_image_gives_way(programs, images: Images, monkeypatch) -> None:
    looked_for: list[str] = []
    find = SymCaches.find
    monkeypatch.setattr(SymCaches, "find", lambda caches, key: (looked_for.append(key), find(caches, key))[1])
    pie, fixed, by_lld = map(program, (programs.pie, programs.fixed, programs.by_lld))
    for identity in (pie, fixed, pie, by_lld, pie, fixed):
        images.open(Mapping.FILE, identity, KERNEL)
    asked = [key for key, again in zip(looked_for, [*looked_for[1:], ""], strict=True) if key != again]
    assert asked == [pie.key, fixed.key, by_lld.key, fixed.key]


def test_a_large_file_is_left_to_be_built_and_found_once_it_is(
    programs, source: Counting, clock: Clock, tmp_path: Path
) -> None:
    caches = local_symcaches(tmp_path / "cache")
    wanted: list[ImageIdentity] = []
    images = Images(source, caches, recheck_s=60, request_build=wanted.append, at_once_s=0, clock=clock)
    identity = program(programs.pie)
    for _ in range(2):
        image = images.open(Mapping.FILE, identity, KERNEL)
        assert (image.status, "pending" in image.reason) == (Status.SYMTAB, True)
    assert wanted == [identity]
    clock.now = 61  # whoever was to build it may have died
    images.open(Mapping.FILE, identity, KERNEL)
    assert wanted == [identity, identity]
    found = source.executable(identity)
    assert isinstance(found, Found)
    with found.content:
        caches.build(identity.key, build_input(found, found))
    assert images.open(Mapping.FILE, identity, KERNEL).status == Status.FULL
    assert len(wanted) == 2


def test_what_is_outdated_serves_until_it_is_built_anew(
    programs, source: Counting, clock: Clock, tmp_path: Path, monkeypatch
) -> None:
    caches = local_symcaches(tmp_path / "cache")
    identity = program(programs.pie)
    found = source.executable(identity)
    assert isinstance(found, Found)
    with found.content:
        built = caches.build(identity.key, build_input(found, found))
    assert isinstance(built, Built)
    old = replace(built, entry=replace(built.entry, outdated=True, producer="older"))
    monkeypatch.setattr(caches, "find", lambda key: old)
    wanted: list[ImageIdentity] = []
    images = Images(source, caches, recheck_s=60, request_build=wanted.append, at_once_s=0, clock=clock)
    for _ in range(2):
        image = images.open(Mapping.FILE, identity, KERNEL)
        assert (image.status, "pending" in image.reason) == (Status.FULL, True)
    assert wanted == [identity]
    monkeypatch.setattr(caches, "find", lambda key: built)
    image = images.open(Mapping.FILE, identity, KERNEL)
    assert (image.status, image.reason) == (Status.FULL, "")


def test_what_is_outdated_and_of_the_file_that_is_chosen_is_not_built_again(
    programs, source: Counting, tmp_path: Path, monkeypatch
) -> None:
    caches = local_symcaches(tmp_path / "cache")
    identity = program(programs.pie)
    found = source.executable(identity)
    assert isinstance(found, Found)
    with found.content:
        built = caches.build(identity.key, build_input(found, found))
    assert isinstance(built, Built)
    monkeypatch.setattr(caches, "find", lambda key: replace(built, entry=replace(built.entry, outdated=True)))
    wanted: list[ImageIdentity] = []
    images = Images(source, caches, request_build=wanted.append, at_once_s=0)
    image = images.open(Mapping.FILE, identity, KERNEL)
    assert (image.status, image.reason, wanted) == (Status.FULL, "", [])


def test_what_failed_beside_something_outdated_is_not_pending(
    programs, source: Counting, tmp_path: Path, monkeypatch
) -> None:
    caches = local_symcaches(tmp_path / "cache")
    identity = program(programs.pie)
    found = source.executable(identity)
    assert isinstance(found, Found)
    with found.content:
        other = replace(found, sha256=b"1" * 32)
        built = caches.build(identity.key, build_input(other, other))
    assert isinstance(built, Built)
    monkeypatch.setattr(caches, "find", lambda key: replace(built, entry=replace(built.entry, outdated=True)))
    monkeypatch.setattr(LocalLedger, "refusal", lambda *_: NotBuilt("It failed.", until=1e12))
    wanted: list[ImageIdentity] = []
    images = Images(source, caches, request_build=wanted.append, at_once_s=0)
    image = images.open(Mapping.FILE, identity, KERNEL)
    assert (image.status, image.reason, wanted) == (Status.FULL, "", [])


def test_a_small_file_is_built_at_once_though_others_are_left(
    programs, source: Counting, tmp_path: Path
) -> None:
    wanted: list[ImageIdentity] = []
    images = Images(source, local_symcaches(tmp_path / "cache"), request_build=wanted.append)
    assert images.open(Mapping.FILE, program(programs.pie), KERNEL).status == Status.FULL
    assert not wanted


def test_what_is_built_answers_without_the_files(programs, source: Counting, tmp_path: Path) -> None:
    first = Images(source, local_symcaches(tmp_path / "cache"))
    with_files = first.open(Mapping.FILE, program(programs.pie), KERNEL)
    identity = program(programs.pie)
    second = Images(source, local_symcaches(tmp_path / "cache"))
    elsewhere = ImageIdentity(identity.key, "pie", "/nowhere/pie", identity.build_id, "")
    without = second.open(Mapping.FILE, elsewhere, KERNEL)
    offsets = FileOffsets(np.arange(0x1000, 0x1400, dtype=np.uint64))
    one, other = with_files.frames(offsets), without.frames(offsets)
    assert (one.names, one.entries.tolist()) == (other.names, other.entries.tolist())
    assert source.asked == ["pie"]


def test_a_disk_that_is_full_costs_lines_but_no_capture(
    programs, source: Counting, tmp_path: Path, monkeypatch
) -> None:
    def full(folder: SymbolCacheFolder) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SymbolCacheFolder, "new_file", full)
    images = Images(source, local_symcaches(tmp_path / "cache"))
    image = images.open(Mapping.FILE, program(programs.pie), KERNEL)
    assert image.status == Status.SYMTAB
    assert "No space left" in image.reason


def locations_of(content: bytearray) -> tuple[int, int]:
    """Where the SymCache, which begins at 64, has its source locations, and their size."""
    words = np.frombuffer(content, "<u4", _HEADER_WORDS, 64).tolist()
    files, functions, locations = words[_COUNTS_AT : _COUNTS_AT + 3]
    functions_at = -(-(64 + 4 * _HEADER_WORDS + 4 * files * (6 if words[1] >= 9 else 3)) // 8) * 8
    return -(-(functions_at + 16 * functions) // 8) * 8, 16 * locations


def test_a_file_that_proves_damaged_while_it_is_read_is_built_again(
    programs, source: Counting, tmp_path: Path
) -> None:
    images = Images(source, local_symcaches(tmp_path / "cache"))
    offsets = FileOffsets(np.arange(0x1000, 0x1400, dtype=np.uint64))
    before = images.open(Mapping.FILE, program(programs.pie), KERNEL).frames(offsets)
    path = next(tmp_path.rglob("*.built"))
    content = bytearray(path.read_bytes())
    at, size = locations_of(content)
    content[at : at + size] = b"\xee" * size  # they name functions and files that are not there
    path.write_bytes(content)
    again = Images(source, local_symcaches(tmp_path / "cache"))
    image = again.open(Mapping.FILE, program(programs.pie), KERNEL)
    after = image.frames(offsets)
    assert (before.names, before.entries.tolist()) == (after.names, after.entries.tolist())
    assert image.status == Status.FULL


def names(image: Image) -> list[str]:
    return [function.name for function, _ in image.frames(FileOffsets(np.zeros(1, np.uint64))).names]


def test_a_module_that_is_loaded_later_is_found_later(source: Counting, images: Images, clock: Clock) -> None:
    missing = images.open(Mapping.MODULE, module("nf_tables"), KERNEL)
    assert (missing.status, names(missing)) == (Status.BINARY_ONLY, [])
    assert missing.reason
    source.kallsyms = AFTER
    clock.now = 61
    assert names(images.open(Mapping.MODULE, module("nf_tables"), KERNEL)) == ["nf_hook"]
    assert source.asked.count("kernel") == 2


def test_all_modules_of_a_kernel_are_read_at_once(source: Counting, images: Images) -> None:
    source.kallsyms = AFTER
    images.open(Mapping.MODULE, module("nf_tables"), KERNEL)
    images.open(Mapping.MODULE, module("zfs"), KERNEL)
    kernel = ImageIdentity(BUILD.hex(), "[kernel]", "[kernel]", BUILD, "")
    assert images.open(Mapping.KERNEL, kernel, KERNEL).status == Status.SYMTAB
    assert source.asked.count("kernel") == 1


def test_a_kernel_that_hides_its_symbols_is_asked_again_later(
    source: Counting, images: Images, clock: Clock
) -> None:
    source.kallsyms = None
    kernel = ImageIdentity(BUILD.hex(), "[kernel]", "[kernel]", BUILD, "")
    assert images.open(Mapping.KERNEL, kernel, KERNEL).reason == "hidden"
    images.open(Mapping.KERNEL, kernel, KERNEL)
    assert source.asked.count("kernel") == 1
    source.kallsyms, clock.now = BEFORE, 61
    assert images.open(Mapping.KERNEL, kernel, KERNEL).status == Status.SYMTAB


def test_symbols_that_arrive_for_a_kernel_or_its_module_are_used_at_once(
    source: Counting, images: Images
) -> None:
    loaded = KernelIdentity(BUILD, (("nf_tables", "0d" * 20),))
    kernel = ImageIdentity(BUILD.hex(), "[kernel]", "[kernel]", BUILD, "")
    built = ImageIdentity("0d" * 20, "[nf_tables]", "[nf_tables]", b"\x0d" * 20, "")
    for key in (BUILD.hex(), "0d" * 20):
        source.kallsyms = None
        images.forget(key)
        images.forget(BUILD.hex())
        images.forget("0d" * 20)
        assert images.open(Mapping.KERNEL, kernel, loaded).status == Status.BINARY_ONLY
        assert images.open(Mapping.MODULE, built, loaded).status == Status.BINARY_ONLY
        source.kallsyms = AFTER
        images.forget(key)
        opened = kernel if key == BUILD.hex() else built
        kind = Mapping.KERNEL if key == BUILD.hex() else Mapping.MODULE
        assert images.open(kind, opened, loaded).status == Status.SYMTAB


def test_a_module_without_an_identity_of_its_own_is_named_as_soon_as_its_kernel_is(
    source: Counting, images: Images
) -> None:
    source.kallsyms = None
    assert images.open(Mapping.MODULE, module("nf_tables"), KERNEL).status == Status.BINARY_ONLY
    source.kallsyms = AFTER
    images.forget("0e" * 20)
    assert images.open(Mapping.MODULE, module("nf_tables"), KERNEL).status == Status.BINARY_ONLY
    images.forget(BUILD.hex())
    assert images.open(Mapping.MODULE, module("nf_tables"), KERNEL).status == Status.SYMTAB


def test_names_are_forgotten_when_all_images_together_hold_too_many(
    programs, source: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symbolizer.images.images._COUNT_EVERY", 1)
    images = Images(source, local_symcaches(tmp_path / "cache"), names=20)
    everywhere = FileOffsets(np.arange(0x3000, dtype=np.uint64))
    older = images.open(Mapping.FILE, program(programs.pie), KERNEL)
    said = older.frames(everywhere).names
    assert older.names_held > 20
    newer = images.open(Mapping.FILE, program(programs.fixed), KERNEL)
    assert older.names_held == 0
    newer.frames(FileOffsets(np.zeros(1, np.uint64)))
    kept = newer.names_held
    images.open(Mapping.FILE, program(programs.fixed), KERNEL)
    assert newer.names_held == kept, "there is room for so many"
    assert older.frames(everywhere).names == said


def test_a_function_of_the_kernel_is_one_object_however_often_it_is_met(
    source: Counting, images: Images
) -> None:
    kernel = ImageIdentity(BUILD.hex(), "[kernel]", "[kernel]", BUILD, "")
    image = images.open(Mapping.KERNEL, kernel, KERNEL)
    (first, _), (again, _) = (image.frames(FileOffsets(np.zeros(1, np.uint64))).names[0] for _ in range(2))
    assert first is again
    assert image.names_held == 1
    image.forget_names()
    assert image.names_held == 0


def test_a_build_of_a_module_is_one_image_whatever_else_is_loaded(source: Counting, images: Images) -> None:
    source.kallsyms = AFTER
    built = ImageIdentity("0d" * 20, "[nf_tables]", "[nf_tables]", b"\x0d" * 20, "")
    sets = [KernelIdentity(BUILD, (("nf_tables", "0d" * 20), (f"m{number}", ""))) for number in range(3)]
    opened = [images.open(Mapping.MODULE, built, kernel) for kernel in sets]
    assert all(image is opened[0] for image in opened)
    nameless = [images.open(Mapping.MODULE, module("nf_tables"), kernel) for kernel in sets]
    assert nameless[0] is not nameless[1]


def test_debug_data_of_a_kernel_that_is_installed_later_is_found_later(
    source: Counting, images: Images, clock: Clock
) -> None:
    kernel = ImageIdentity(BUILD.hex(), "[kernel]", "[kernel]", BUILD, "")
    assert images.open(Mapping.KERNEL, kernel, KERNEL).status == Status.SYMTAB
    assert images.open(Mapping.KERNEL, kernel, KERNEL).status == Status.SYMTAB
    assert source.asked.count("[kernel]") == 1
    clock.now = 61
    assert images.open(Mapping.KERNEL, kernel, KERNEL).status == Status.SYMTAB
    assert source.asked.count("[kernel]") == 2
    assert source.asked.count("kernel") == 1
