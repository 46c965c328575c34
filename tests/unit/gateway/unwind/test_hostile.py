"""Whatever an ELF file contains, reading it ends soon and raises nothing but BadImage."""

from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import BadImage
from gateway.unwind.cfi import cie_distance, entry_length, evaluate, read_cie
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import ElfLayout, Segment
from gateway.unwind.rules import FROM_RSP, compile_row

from .conftest import GOLDEN, open_table

GOOD = (GOLDEN / "frames.elf").read_bytes()
# .eh_frame_hdr and .eh_frame, the headers, and the code's addresses.
TABLES = (0x10F0, 0x12DC)
HEADERS = (0, 0x400)
CODE = range(0x3B0, 0x10F8, 5)

changes = st.lists(
    st.tuples(st.one_of(st.integers(*TABLES), st.integers(*HEADERS)), st.integers(0, 255)),
    min_size=1,
    max_size=24,
)


class BoundedFile:
    """Counts what is read of it, as a hostile file may ask for much."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked = 0

    def read(self, offset: int, size: int) -> bytes:
        assert offset >= 0
        assert 0 <= size <= 16 << 20
        self.asked += 1
        return self.data[offset : offset + size]


def look_up_all(data: bytes) -> None:
    file = BoundedFile(data)
    try:
        layout, _ = open_table(data)
    except BadImage:
        return
    table = UnwindTable(layout, file.read)
    for offset in CODE:
        kind, _, rbp, rbx, unusual = table.rule(offset)
        assert 0 <= kind <= 7
        assert rbp <= 0
        assert rbx <= 0
        assert (unusual is not None) == (kind == 7)
        start = table.function_start(offset)
        assert start is None or 0 <= start <= offset
    assert table.entries_evaluated <= len(CODE)
    assert file.asked < 6 * len(CODE)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(changes)
def test_changed_bytes(changed):
    data = bytearray(GOOD)
    for position, value in changed:
        data[position] = value
    look_up_all(bytes(data))


def test_a_function_does_not_begin_behind_its_code():
    """Of two segments the lower one in memory is the higher one in the file, and an entry reaches over both."""
    image = bytearray(0x5000)
    cie = _entry(pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x03\x0c\x07\x08\x90\x01")
    fde_address = 0x400100 + len(cie)
    fde = _entry(pack("<III", fde_address + 4 - 0x400100, 0x400800, 0x1800) + b"\0")
    header = b"\x01\x1b\x03\x3b" + pack("<iIii", 0, 1, 0x800, fde_address - 0x400000)
    image[0x3100 : 0x3100 + len(cie) + len(fde)] = cie + fde
    image[0x3000 : 0x3000 + len(header)] = header
    low, high = Segment(0x3000, 0x400000, 0x1000, False), Segment(0x1000, 0x401000, 0x1000, True)
    layout = ElfLayout((low, high), -1, (0x3000, len(header)), b"", b"")
    for asked_first in (True, False):
        table = UnwindTable(layout, lambda offset, size: bytes(image[offset : offset + size]))
        if asked_first:
            assert table.rule(0x1100)[0] == FROM_RSP
        assert table.function_start(0x1100) is None


def _entry(body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return pack("<I", len(body)) + body


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(GOOD)))
def test_cut_off_anywhere(length):
    look_up_all(GOOD[:length])


@settings(max_examples=100, deadline=None)
@given(st.binary(min_size=0x64, max_size=0x1EC))
def test_random_tables(tables):
    look_up_all(GOOD[: TABLES[0]] + tables + GOOD[TABLES[0] + len(tables) :])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_random_entries(cie_bytes, fde_bytes):
    # A sound beginning, so that more than the first check is met.
    cie_data = b"\0\0\0\0\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1b" + cie_bytes
    fde_data = b"\0\0\0\0\x04\0\0\0\0\0\0\0\x10\0\0\0\0" + fde_bytes
    try:
        entry = evaluate(fde_data, 0x1000, read_cie(cie_data, 0x800))
    except BadImage:
        return
    assert len(entry.starts) == len(entry.rows) <= len(fde_data)
    assert entry.starts == sorted(entry.starts)
    for row in entry.rows:
        compile_row(row)


@given(st.binary(max_size=16))
def test_entry_heads(head):
    for read in (entry_length, cie_distance):
        with suppress(BadImage):
            read(head)
