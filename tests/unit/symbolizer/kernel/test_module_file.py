"""Modules by a compiler, put where a kernel would load them; binutils' addr2line reads them unloaded."""

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.landing.resolved import Status
from symbolizer.addresses import FileOffsets
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf
from symbolizer.identity import identity_of_key
from symbolizer.images.image import Image
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.module_file import TEXT_ADDRESS, as_loaded, is_module
from symbolizer.sources.layout import layout_of
from symbolizer.sources.local_files import LocalFiles

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
