import shutil
import subprocess
from pathlib import Path
from struct import pack
from typing import Any, SupportsIndex

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import BadImage
from gateway.symbols.content import PIECE_BYTES
from gateway.symbols.small_elf import SmallElf
from gateway.unwind.elf import read_layout
from storage.symbols.kinds import FileKind, Quality
from symbolizer.addresses import ElfVaddrs
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.inspection.inspection import inspect

SOURCE = """
#include <stdlib.h>
static char big[200 << 10] = {1};
__attribute__((noinline)) static int twice(int n) { return 2 * n + big[n & 1]; }
int main(int argc, char **argv) { (void)argv; return twice(argc) + abs(rand()); }
"""


def small(data: bytes) -> bytes:
    plan = SmallElf(lambda offset, size: data[offset : offset + size], len(data), lambda: None)
    pieces = list(plan.pieces())
    assert all(len(piece) <= PIECE_BYTES for piece in pieces)
    made = b"".join(pieces)
    assert len(made) == plan.raw_bytes
    return made


def hostile(sections: int, *, type_: int, names: bytes, segments: int = 0) -> bytes:
    """An ELF file with so many sections of one type, all with the same name, and note segments outside of them."""
    names_at = 64 + 56 * segments
    head = pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0, 64, names_at + len(names), 0, 64, 56, segments, 64, sections, 1,
    )  # fmt: skip
    notes = b"".join(pack("<IIQQQQQQ", 4, 4, number, 0, 0, 1, 1, 1) for number in range(segments))
    first = pack("<IIQQQQIIQQ", *[0] * 10)
    second = pack("<IIQQQQIIQQ", 0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    others = pack("<IIQQQQIIQQ", 0, type_, 0, 0, names_at, 1, 0, 0, 1, 0)
    return head + notes + names + first + second + others * (sections - 2)


class Counted(bytes):
    """Bytes whose slices are counted."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        part = super().__getitem__(key)
        Counted.copied += len(part) if isinstance(part, bytes) else 0
        return part


def test_names_without_an_end_cost_no_more_than_others():
    data = hostile(4000, type_=1, names=b"x" * 100_000)
    Counted.copied = 0
    SmallElf(lambda offset, size: Counted(data[offset : offset + size]), len(data), lambda: None)
    assert 0 < Counted.copied < 100 * 4000


def test_of_names_only_whole_ones_are_known():
    kept, other = (len(small(hostile(3, type_=1, names=name))) for name in (b".plt.got\0", b".plt.gotten\0"))
    assert kept != other


def test_much_work_is_paused_and_may_be_broken_off():
    data = hostile(20_000, type_=2, names=b"\0", segments=20)  # each segment is looked for in all sections
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        if pauses == 100:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        SmallElf(lambda offset, size: data[offset : offset + size], len(data), pause)


@pytest.fixture(scope="module", params=["pie", "fixed", "stripped", "no sections"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("small")
    source, path = folder / "program.c", folder / "program"
    source.write_text(SOURCE)
    flags = ["-no-pie"] if request.param == "fixed" else []
    subprocess.run([compiler, "-g", "-O1", "-Wl,--build-id", *flags, "-o", path, source], check=True)
    if request.param == "stripped":
        subprocess.run(["strip", path], check=True)
    data = bytearray(path.read_bytes())
    if request.param == "no sections":
        data[40:48], data[60:64] = bytes(8), bytes(4)
    return bytes(data)


def test_every_address_has_the_name_it_had(program: bytes):
    before, after = ElfFile(program), ElfFile(small(program))
    assert after.build_id == before.build_id
    assert len(after.build_id) == 20
    assert after.segment_map == before.segment_map
    old, new = read_symbols(before), read_symbols(after)
    assert [old.symbol(n) for n in range(len(old))] == [new.symbol(n) for n in range(len(new))]
    addresses = ElfVaddrs(np.arange(0x1000, 0x4000, dtype=np.uint64))
    assert (old.find(addresses) == new.find(addresses)).all()


def test_a_store_knows_it_for_what_it_is(program: bytes):
    before, after = inspect(program), inspect(small(program))
    assert after.key == before.key
    assert (after.functions, after.segments) == (before.functions, before.segments)
    if before.functions:
        assert after.kind == FileKind.SYMBOLS
        assert after.quality == min(before.quality, Quality.SYMTAB)


def test_it_is_small_and_has_neither_code_nor_data(program: bytes):
    made = small(program)
    assert len(made) < 40_000 < len(program)
    file = ElfFile(made)
    assert not file.has_dwarf
    assert not any(file.has_content(name) for name in (".text", ".data", ".rodata", ".eh_frame"))


def test_the_gateway_itself_knows_it_by_its_segments(program: bytes):
    made = small(program)
    before = read_layout(lambda offset, size: program[offset : offset + size])
    after = read_layout(lambda offset, size: made[offset : offset + size])
    assert (after.build_id, after.segments) == (before.build_id, before.segments)


def test_readelf_finds_nothing_wrong_with_its_sections(program: bytes, tmp_path: Path):
    path = tmp_path / "small"
    path.write_bytes(small(program))
    seen = subprocess.run(["readelf", "-WSsn", path], capture_output=True, text=True, check=True)
    assert "Build ID" in seen.stdout
    assert "rror" not in seen.stderr, seen.stderr


def test_a_small_file_of_a_small_file_is_the_same(program: bytes):
    once = ElfFile(small(program))
    assert [(s["addr"], s["size"], s["flags"]) for s in once.sections] == [
        (s["addr"], s["size"], s["flags"]) for s in ElfFile(program).sections
    ]


def test_links_to_debug_files_stay(tmp_path: Path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source, path, debug = tmp_path / "p.c", tmp_path / "p", tmp_path / "p.debug"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-o", path, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", path], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", path], check=True)
    before, after = ElfFile(path.read_bytes()), ElfFile(small(path.read_bytes()))
    assert after.debug_link == before.debug_link is not None


@settings(max_examples=50)
@given(st.data())
def test_no_damage_breaks_more_than_the_file(program: bytes, data: st.DataObject):
    damaged = bytearray(program)
    sections_at = int.from_bytes(program[40:48], "little")
    places = st.integers(0, 1500) | st.integers(sections_at, len(program) - 1)
    for at in data.draw(st.lists(places, min_size=1, max_size=6)):
        damaged[at] = data.draw(st.integers(0, 255))
    del damaged[len(program) - data.draw(st.sampled_from([0, 0, 1, 5000, len(program) - 20])) :]
    try:
        made = small(bytes(damaged))
    except BadImage:
        return
    assert len(made) <= 40 * len(program)
