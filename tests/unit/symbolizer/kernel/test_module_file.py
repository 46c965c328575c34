"""Modules by a compiler, put where a kernel would load them; binutils' addr2line reads them unloaded."""

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.symbolized import Status
from symbolizer.addresses import FileOffsets
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHT_SYMTAB, Records
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf
from symbolizer.files import OpenedFile
from symbolizer.identity import identity_of_key
from symbolizer.images.image import Image
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.module_file import MAX_SYMBOL_BYTES, TEXT_ADDRESS, as_loaded, is_module
from symbolizer.sources.layout import layout_of
from symbolizer.sources.local_files import LocalFiles
from tests.hostile_elf import Counted

SOURCE = """
static const char about[] __attribute__((section(".modinfo"), used)) = "license=GPL";
__attribute__((section(".init.text"), used)) static int begin(void) { return 7; }
extern int printk(int);
__attribute__((cold, noinline)) static int seldom(int n) { return printk(n) + 3; }
static inline __attribute__((always_inline)) int twice(int n) {
    return printk(n) * 2;
}
__attribute__((noinline, used)) static int read_block(int n) {
    int sum = n;
    while (n--)
        sum += twice(n);
    return sum > 9 ? seldom(sum) : sum;
}
__attribute__((used)) int file_open(int n) { return read_block(n) + 1; }
"""
KERNEL = KernelIdentity(b"\x0b" * 20)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module with debug data, code in three sections, and a build-id."""
    if shutil.which("gcc") is None or shutil.which("addr2line") is None:
        pytest.skip("gcc or binutils are not installed")
    folder = tmp_path_factory.mktemp("module") / "lib/modules/6.1.0/kernel/fs"
    folder.mkdir(parents=True)
    source, made, path = folder / "a.c", folder / "a.o", folder / "made-up.ko"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O2", "-fno-pic", "-mcmodel=kernel", "-c", "-o", made, source], check=True)
    subprocess.run(["ld", "-r", "--build-id=sha1", "-o", path, made], check=True)
    return path


def section(path: Path, name: str) -> tuple[int, int]:
    """Where a section is put, from .text on, and its size."""
    file = ElfFile(as_loaded(ElfFile(path.read_bytes())))
    at = file.sections[file.section_names[name]]
    return int(at["addr"]) - TEXT_ADDRESS, int(at["size"])


def expected(path: Path, name: str, offset: int) -> list[tuple[str, int]]:
    """Functions and lines of an offset in a section, innermost first."""
    said = subprocess.run(
        ["addr2line", "-if", "-j", name, "-e", path, hex(offset)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    lines = [line.rpartition(":")[2].split(" ")[0] for line in said[1::2]]
    return [
        (function, int(line) if line.isdigit() else 0)
        for function, line in zip(said[::2], lines, strict=True)
        if function != "??"
    ]


def frames(image: Image, offset: int) -> list[tuple[str, int]]:
    found = image.frames(FileOffsets(np.array([offset], np.uint64)))
    return [(found.names[entry][0].raw_name, found.names[entry][1]) for entry in found.entries]


def opened(path: Path, tmp_path: Path) -> Image:
    key = ElfFile(path.read_bytes()).build_id.hex()
    source = LocalFiles(debug_roots=[path.parents[5]], root=tmp_path)
    images = Images(source, local_symcaches(tmp_path / "cache"))
    return images.open(capture_pb2.Mapping.MODULE, identity_of_key(key, "[made_up]"), KERNEL)


def test_every_code_address_has_the_functions_and_lines_it_has_unloaded(module: Path, tmp_path: Path):
    image = opened(module, tmp_path)
    assert (image.status, image.reason) == (Status.FULL, "")
    symbols = read_symbols(ElfFile(as_loaded(ElfFile(module.read_bytes()))))
    ranges = [symbols.symbol(number) for number in range(len(symbols))]
    depths = set()
    for name in (".text", ".text.unlikely"):
        start, size = section(module, name)
        for offset in range(size):
            address = TEXT_ADDRESS + start + offset
            if any(symbol.start <= address < symbol.end for symbol in ranges):  # else it is padding
                wanted = expected(module, name, offset)
                assert frames(image, start + offset) == wanted
                depths.add(len(wanted))
    assert depths == {1, 2}


def test_code_lies_one_section_after_the_other_but_for_what_is_freed(module: Path):
    text, unlikely, init = (section(module, name) for name in (".text", ".text.unlikely", ".init.text"))
    assert text[0] == 0
    assert text[1] <= unlikely[0] < text[1] + 16
    segments = layout_of(ElfFile(as_loaded(ElfFile(module.read_bytes())))).segments
    assert [(s.offset, s.vaddr) for s in segments] == [(0, TEXT_ADDRESS)]
    assert unlikely[0] + unlikely[1] == segments[0].filesz <= init[0]


def test_without_debug_data_its_symbols_name_it(module: Path, tmp_path: Path):
    folder = tmp_path / "debug/lib/modules/6.1.0/kernel/fs"
    folder.mkdir(parents=True)
    subprocess.run(["objcopy", "--strip-debug", module, folder / "made_up.ko"], check=True)
    image = opened(folder / "made_up.ko", tmp_path)
    assert image.status == Status.SYMTAB
    start, _ = section(module, ".text.unlikely")
    assert frames(image, start) == [("seldom", 0)]
    assert {name for offset in range(256) for name, _ in frames(image, offset)} >= {"read_block", "file_open"}


def test_another_build_of_the_module_is_not_taken(module: Path, tmp_path: Path):
    images = Images(
        LocalFiles(debug_roots=[module.parents[5]], root=tmp_path), local_symcaches(tmp_path / "cache")
    )
    other = identity_of_key("01" * 20, "[made_up]")
    assert images.open(capture_pb2.Mapping.MODULE, other, KERNEL).status == Status.BINARY_ONLY


def test_other_relocatable_files_are_no_modules(module: Path):
    assert is_module(ElfFile(module.read_bytes()))
    subprocess.run(
        ["objcopy", "--rename-section", ".modinfo=.other", module, module.with_suffix(".o2")], check=True
    )
    assert not is_module(ElfFile(module.with_suffix(".o2").read_bytes()))


def test_what_it_says_of_its_size_is_not_believed(module: Path):
    data = bytearray(module.read_bytes())
    file = ElfFile(bytes(data))
    sections_at = struct.unpack_from("<Q", data, 40)[0]
    text = file.section_names[".text"]
    struct.pack_into("<Q", data, sections_at + 64 * text + 32, 1 << 40)
    with pytest.raises(MalformedElf):
        as_loaded(ElfFile(bytes(data)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_damage_breaks_more_than_the_file(module: Path, data: st.DataObject):
    damaged = bytearray(module.read_bytes())
    sections_at = struct.unpack_from("<Q", damaged, 40)[0]
    places = (
        st.integers(16, 63) | st.integers(sections_at, len(damaged) - 1) | st.integers(0, len(damaged) - 1)
    )
    for at in data.draw(st.lists(places, min_size=1, max_size=8)):
        damaged[at] = data.draw(st.integers(0, 255))
    try:
        made = as_loaded(ElfFile(bytes(damaged)))
    except MalformedElf:
        return
    assert len(made) < 300 << 20


def of_sections(whole: bytes, change: Callable[[Records], Records]) -> bytes:
    """The file with other section headers, behind all the rest."""
    sections = change(ElfFile(whole).sections.copy())
    made = bytearray(whole)
    made[40:48] = len(whole).to_bytes(8, "little")
    made[60:62] = bytes(2)  # the number is in the first of them
    sections["size"][0] = len(sections)
    return bytes(made) + sections.tobytes()


def test_a_module_of_symbols_alone_is_copied_within_bounds(module: Path, tmp_path: Path) -> None:
    """Every section of names may be the same hole of a file; each was copied twice."""
    whole = module.read_bytes()

    def with_holes(sections: Records) -> Records:
        holes = np.repeat(sections[1:2], 3)
        holes["type"], holes["offset"], holes["size"] = 3, len(whole), MAX_SYMBOL_BYTES // 2
        names = ElfFile(whole).sections["name"]
        holes["name"] = names[1] + np.arange(1, 4)  # names of their own: .text from its second letter on
        return np.concatenate([sections, holes])

    path = tmp_path / "holes.ko"
    path.write_bytes(of_sections(whole, with_holes))
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    content = Counted(OpenedFile(path))
    with pytest.raises(MalformedElf, match=f"more than {MAX_SYMBOL_BYTES} bytes of symbols"):
        as_loaded(ElfFile(content), debug=False)
    assert content.read < 2 * MAX_SYMBOL_BYTES


def test_many_sections_are_put_in_their_places_in_time(module: Path) -> None:
    """Of 64,000, half of them code, each of the others was looked for in a list of those."""
    whole = module.read_bytes()

    def with_many(sections: Records, count: int = 32_000) -> Records:
        code, data = np.repeat(sections[1:2], count), np.repeat(sections[1:2], count)
        for each, flags in ((code, 6), (data, 2)):
            each["flags"], each["size"], each["name"], each["type"] = flags, 0, 0, 8
        return np.concatenate([sections, code, data])

    loaded = ElfFile(as_loaded(ElfFile(of_sections(whole, with_many)), debug=False))
    assert len(loaded.symbols(SHT_SYMTAB)) == 1
    with pytest.raises(MalformedElf, match="sections; the limit is 65280"):
        as_loaded(ElfFile(of_sections(whole, lambda sections: with_many(sections, 40_000))), debug=False)
