"""Variable-length integers and encoded pointers (DWARF 5 section 7.6; LSB 5, section 10.5)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from gateway.errors import BadImage

OMITTED: Final = 0xFF
_APPLICATION_MASK: Final = 0x70
_PC_RELATIVE: Final = 0x10
_INDIRECT: Final = 0x80
# The size and signedness half of a pointer encoding: absptr, udata2/4/8, sdata2/4/8.
_FORMATS: Final = {
    0x00: Struct("<Q"),
    0x02: Struct("<H"),
    0x03: Struct("<I"),
    0x04: Struct("<Q"),
    0x0A: Struct("<h"),
    0x0B: Struct("<i"),
    0x0C: Struct("<q"),
}
_ULEB: Final = 0x01
_SLEB: Final = 0x09
# Ten bytes of seven bits hold any 64-bit value; a longer number is damaged.
_LAST_SHIFT: Final = 63


def read_uleb(data: bytes, position: int) -> tuple[int, int]:
    """Return (value, position after it). Raises IndexError at the end of `data`."""
    byte = data[position]
    position += 1
    if byte < 128:
        return byte, position
    value = byte & 127
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > _LAST_SHIFT:
            raise BadImage("a LEB128 number is longer than 64 bits")


def read_sleb(data: bytes, position: int) -> tuple[int, int]:
    """Return (value, position after it). Raises IndexError at the end of `data`."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return (value - (1 << shift) if byte & 64 else value), position
        if shift > _LAST_SHIFT:
            raise BadImage("a LEB128 number is longer than 64 bits")


def read_pointer(data: bytes, position: int, encoding: int, *, pc: int) -> tuple[int, int]:
    """Return (value, position after it) of an encoded pointer; `pc` is the virtual address of `position`.

    Supports absolute and pc-relative values, the only ones that x86-64 compilers emit in .eh_frame. Raises BadImage
    for other bases and for indirect pointers, struct.error at the end of `data`.
    """
    application = encoding & _APPLICATION_MASK
    if encoding & _INDIRECT or application not in {0, _PC_RELATIVE}:
        raise BadImage(f"pointer encoding {encoding:#04x} is not supported")
    base = pc if application == _PC_RELATIVE else 0
    form = encoding & 0x0F
    layout = _FORMATS.get(form)
    if layout is not None:
        (value,) = layout.unpack_from(data, position)
        return base + value, position + layout.size
    if form == _ULEB:
        value, position = read_uleb(data, position)
    elif form == _SLEB:
        value, position = read_sleb(data, position)
    else:
        raise BadImage(f"pointer encoding {encoding:#04x} is not supported")
    return base + value, position


def skip_pointer(data: bytes, position: int, encoding: int) -> int:
    """Return the position after an encoded pointer."""
    if encoding == OMITTED:
        return position
    return read_pointer(data, position, encoding & 0x0F, pc=0)[1]
