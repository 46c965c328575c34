"""Builds the table of entries of a file without .eh_frame_hdr: reads .eh_frame once from start to end.

GCC links static programs without .eh_frame_hdr (except `-static-pie`), so only the section headers locate .eh_frame;
`strip` keeps them. The section of a static C program holds some 1500 entries: 3 ms.
"""

from __future__ import annotations

from array import array
from struct import Struct, error
from typing import TYPE_CHECKING, Final

from gateway.errors import BadImage
from gateway.unwind.cfi import Cie, cie_distance, entry_length, read_cie
from gateway.unwind.leb128 import read_pointer

if TYPE_CHECKING:
    from gateway.unwind.elf import Read

# 60,000 entries or so, 0.1 s. A larger section was linked with an index.
MAX_SECTION_BYTES: Final = 2 << 20
MAX_SECTIONS: Final = 1024
_MAX_NAMES_BYTES: Final = 1 << 20
_SECTION_TABLE: Final = Struct("<40xQ10xHHH")  # of the ELF header: e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION: Final = Struct("<IIQQQQIIQQ")
_NAME: Final = b".eh_frame\0"
_NOBITS: Final = 8


def find_eh_frame(read: Read) -> tuple[int, int, int] | None:
    """Return file offset, size and virtual address of .eh_frame by the section headers; None: not found."""
    head = read(0, _SECTION_TABLE.size)
    if len(head) < _SECTION_TABLE.size:
        return None
    table, entry_bytes, count, names_index = _SECTION_TABLE.unpack(head)
    if entry_bytes != _SECTION.size or not 0 < count <= MAX_SECTIONS or names_index >= count:
        return None
    raw = read(table, count * _SECTION.size)
    if len(raw) < count * _SECTION.size:
        return None
    sections = list(_SECTION.iter_unpack(raw))
    names_at, names_size = sections[names_index][4:6]
    names = read(names_at, min(names_size, _MAX_NAMES_BYTES))
    for name, kind, _, address, offset, size, *_ in sections:
        if kind != _NOBITS and names[name : name + len(_NAME)] == _NAME:
            return offset, size, address
    return None


def scan(section: bytes, address: int) -> tuple[array[int], array[int]]:
    """Return the start of the code and the position of each FDE, both relative to `address`, sorted by the start.

    `address` is the section's. Damage ends the scan: behind it no entry's position is known.
    """
    found: list[tuple[int, int]] = []
    cies: dict[int, Cie | None] = {}
    position = 0
    while position + 8 < len(section):
        try:
            length = entry_length(section[position : position + 8])
            entry = section[position : position + length]
            if entry[4:8] == b"\0\0\0\0":
                cies[position] = _cie(entry, address + position)
            else:
                cie = cies.get(position - cie_distance(entry))
                if cie is not None:
                    start, _ = read_pointer(entry, 8, cie.pointer_encoding, pc=address + position + 8)
                    found.append((start - address, position))
        except (BadImage, error, IndexError):
            break
        position += length
    found.sort()
    try:
        return array("q", [start for start, _ in found]), array("q", [place for _, place in found])
    except OverflowError as reason:
        raise BadImage("an .eh_frame entry covers no address") from reason


def _cie(entry: bytes, address: int) -> Cie | None:
    try:
        return read_cie(entry, address)
    except BadImage:
        return None  # its entries are unreadable, others may not be
