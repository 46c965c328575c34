"""GIVEN functions WHEN an ELF file is written THEN pyelftools, readelf and our own reader see what was meant."""

import io
import shutil
import subprocess

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from simulation.binaries import content_of, executable, kernel
from simulation.catalogue import SERVICES
from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.kernel.kallsyms import kallsyms_of
from symbolizer.sources.layout import is_kernel

names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", min_codepoint=33), min_size=1, max_size=40
)


@given(st.binary(min_size=1, max_size=20), st.lists(st.tuples(names, st.integers(1, 500)), max_size=20))
def test_pyelftools_reads_what_was_written(build_id, functions):
    symbols, at = [], TEXT_OFFSET
    for name, size in functions:
        symbols.append(Symbol(name, at, size))
        at += size
    file = ELFFile(io.BytesIO(elf_file(build_id, symbols)))
    table = file.get_section_by_name(".symtab")
    assert [Symbol(symbol.name, symbol["st_value"], symbol["st_size"]) for symbol in table.iter_symbols()][
        1:
    ] == symbols
    (note,) = file.get_section_by_name(".note.gnu.build-id").iter_notes()
    assert note["n_desc"] == build_id.hex()
    text = file.get_section_by_name(".text")
    assert text.data() == b"\xcc" * (at - TEXT_OFFSET)


def test_our_own_reader_finds_every_function():
    build = executable(SERVICES[1], 7, 3)
    assert build is not None
    file = ElfFile(content_of(build))
    assert file.build_id == build.build_id
    table = read_symbols(file)
    assert {
        table.symbol(n).name: (table.symbol(n).start, table.symbol(n).end) for n in range(len(table))
    } == {name: (start, start + size) for name, (start, size) in build.places.items()}


def test_a_kernel_counts_from_stext():
    build = kernel(0, 7)
    assert is_kernel(ElfFile(content_of(build)))
    table = kallsyms_of(ElfFile(content_of(build))).kernel
    found = dict(
        zip([name.decode() for name in table.names], zip(table.starts, table.ends, strict=True), strict=True)
    )
    assert found == {name: (start, start + size) for name, (start, size) in build.places.items()}


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_readelf_has_nothing_to_say_against_it(tmp_path):
    build = executable(SERVICES[0], 7, 3)
    assert build is not None
    path = tmp_path / "file"
    path.write_bytes(content_of(build))
    seen = subprocess.run(["readelf", "-Wa", path], capture_output=True, text=True, check=True)
    assert seen.stderr == ""
    assert f"Build ID: {build.build_id.hex()}" in seen.stdout


def test_builds_differ_by_release_and_seed():
    builds = [executable(SERVICES[1], seed, release) for seed, release in ((7, 1), (7, 2), (8, 1))]
    assert len({build.build_id for build in builds if build}) == 3
    first, second = (build.places for build in builds[:2] if build)
    assert first != second, "functions move from build to build"
