from pathlib import Path

import numpy as np
import pytest

from symbolizer.addresses import FileOffsets, SegmentMap
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import PF_X, PT_LOAD, record
from symbolizer.sources.layout import layout_of
from symbolizer.sources.source import Missing


def read(path: Path) -> ElfFile:
    return ElfFile(path.read_bytes())


def code_of(elf: ElfFile) -> FileOffsets:
    segment = next(s for s in elf.segment_map.segments if s.executable)
    return FileOffsets(np.arange(segment.offset, segment.offset + segment.filesz, dtype=np.uint64))


@pytest.mark.parametrize("variant", ["pie", "fixed"])
def test_a_debug_file_alone_places_all_code(programs, variant: str) -> None:
    whole = getattr(programs, variant)
    programs.run("objcopy", "--only-keep-debug", str(whole), f"layout-{variant}")
    debug = read(programs.folder / f"layout-{variant}")
    assert not debug.has_layout
    layout = layout_of(debug)
    assert isinstance(layout, SegmentMap)
    offsets = code_of(read(whole))
    assert (
        layout.to_vaddrs(offsets).values.tolist()
        == read(whole).segment_map.to_vaddrs(offsets).values.tolist()
    )
    assert layout.base == read(whole).segment_map.base


def test_eu_strip_leaves_segments_as_they_were(programs) -> None:
    programs.run("eu-strip", "-f", "layout-eu.debug", "-o", "layout-eu", str(programs.by_lld))
    assert layout_of(read(programs.folder / "layout-eu.debug")) == read(programs.by_lld).segment_map


def test_another_linkers_layout_is_not_guessed(programs) -> None:
    """LLD's code is at offset 0x640 and address 0x1640; GNU's rule would name every function wrongly."""
    programs.run("objcopy", "--only-keep-debug", str(programs.by_lld), "layout-lld")
    missing = layout_of(read(programs.folder / "layout-lld"))
    assert isinstance(missing, Missing)
    assert "linker" in missing.reason


def test_an_executable_says_it_itself(programs) -> None:
    assert layout_of(read(programs.by_lld)) == read(programs.by_lld).segment_map


def test_what_has_no_code_places_none(programs) -> None:
    programs.run("gcc", "-c", "-g", "program.c", "-o", "layout.o")
    assert isinstance(layout_of(read(programs.folder / "layout.o")), Missing)


@pytest.mark.parametrize("memsz", [(1 << 64) - 1, (1 << 64) - 0x1000])
def test_an_emptied_segment_that_leaves_the_address_space_places_none(programs, memsz: int) -> None:
    """Before, one such upload failed every capture that held the binary."""
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), "layout-beyond")
    data = bytearray((programs.folder / "layout-beyond").read_bytes())
    elf = ElfFile(bytes(data))
    segments = elf.segments.copy()
    is_code = (segments["type"] == PT_LOAD) & ((segments["flags"] & PF_X) != 0)
    segments["vaddr"][is_code] += 0x234
    segments["memsz"][is_code] = memsz
    at = int.from_bytes(data[32:40], "little")
    assert segments.dtype == record("segment", 64, "<")
    data[at : at + segments.nbytes] = segments.tobytes()
    missing = layout_of(ElfFile(bytes(data)))
    assert isinstance(missing, Missing)
    assert "address space" in missing.reason
