"""Ends of functions by the unwind table: all that a stripped file says about them (LSB 5.0, "Exception Frames").

The header `.eh_frame_hdr` has a table of (start, unwind entry), ascending. Every linker writes it with the same
encodings; a file with others has no ends here.
"""

import struct
from typing import Final

import numpy as np

from symbolizer.elf.file import ElfFile

_HEADER: Final = ".eh_frame_hdr"
_ENTRIES: Final = ".eh_frame"
_ENCODINGS: Final = b"\x01\x1b\x03\x3b"
"""Version 1; `.eh_frame` relative to the field; 4 bytes of count; the table relative to the header."""
_TABLE_AT: Final = 12
_MOST_BYTES: Final = 64 << 20
"""Of the header: 8 million functions."""
_ENTRY: Final = struct.Struct("<IIiI")
"""Length, offset of the common entry, start relative to the field, size of the code."""


def end_of(elf: ElfFile, start: int) -> int | None:
    """Address behind the function that starts at this virtual address; None: not known. Raises `MalformedElf`."""
    index = elf.section_names.get(_HEADER)
    data = elf.data(_HEADER, limit=_MOST_BYTES)
    if index is None or not data or data[:4] != _ENCODINGS or len(data) < _TABLE_AT or elf.order != "<":
        return None
    base = int(elf.sections["addr"][index])
    count = min(int.from_bytes(data[8:_TABLE_AT], "little"), (len(data) - _TABLE_AT) // 8)
    table = np.frombuffer(data, "<i4", 2 * count, _TABLE_AT).reshape(count, 2).astype(np.int64)
    place = int(np.searchsorted(table[:, 0], start - base))
    if place == count or int(table[place, 0]) != start - base:
        return None
    stated = _size_of(elf, base + int(table[place, 1]), start)
    following = base + int(table[place + 1, 0]) if place + 1 < count else None
    if stated is not None:
        return start + stated
    return following if following is not None and following > start else None


def _size_of(elf: ElfFile, address: int, start: int) -> int | None:
    """Size in the unwind entry at this address; None if it is not an entry of the function at `start`."""
    index = elf.section_names.get(_ENTRIES)
    entries = elf.part(_ENTRIES, limit=_MOST_BYTES)
    if index is None or entries is None:
        return None
    at = address - int(elf.sections["addr"][index])
    data = entries[at : at + _ENTRY.size] if at >= 0 else b""
    if len(data) < _ENTRY.size:
        return None
    _, _, relative, size = _ENTRY.unpack(data)
    return int(size) if address + 8 + relative == start and size > 0 else None
