"""Reads an object of clang's BPF target: one program, its maps, its licence. Pure.

Maps are `struct map {type, key size, value size, entries, flags}` in the section "maps"; the program's relocations are
16-byte loads of their addresses. The object is part of this package, so an error here is one of its build.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.errors import BadImage

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQ")
_MAP: Final = struct.Struct("<5I")
_SYMBOLS: Final = 2
_RELOCATIONS: Final = 9
_MACHINE_BPF: Final = 247
_LOAD_64: Final = 0x18
_PSEUDO_MAP_DESCRIPTOR: Final = 1
_MAX_SECTIONS: Final = 64
_MAX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class MapDefinition:
    """A map as the source declares it; `entries` 0: the loader decides."""

    kind: int
    key_bytes: int
    value_bytes: int
    entries: int
    flags: int


@dataclass(frozen=True, slots=True)
class BpfObject:
    """The content of an object. `relocations`: byte offsets in `code`, each with the name of its map."""

    code: bytes
    maps: Mapping[str, MapDefinition]
    relocations: tuple[tuple[int, str], ...]
    licence: bytes

    def linked(self, descriptors: Mapping[str, int]) -> bytes:
        """The instructions with the maps' descriptors."""
        code = bytearray(self.code)
        for at, name in self.relocations:
            code[at + 1] = code[at + 1] & 0x0F | _PSEUDO_MAP_DESCRIPTOR << 4
            struct.pack_into("<i", code, at + 4, descriptors[name])
        return bytes(code)


def parse_object(data: bytes, section: str) -> BpfObject:
    """Parse an object whose program lies in `section`. Raises BadImage."""
    try:
        return _parse(data, section.encode())
    except (struct.error, ValueError, IndexError, StopIteration, OverflowError) as error:
        raise BadImage(f"not an object of clang's BPF target: {error}") from error


def _parse(data: bytes, section: bytes) -> BpfObject:
    machine = struct.unpack_from("<H", data, 18)[0]
    if data[:6] != b"\x7fELF\x02\x01" or machine != _MACHINE_BPF or len(data) > _MAX_BYTES:
        raise BadImage(f"not a BPF object: machine {machine}, {len(data)} bytes")
    table = struct.unpack_from("<Q", data, 40)[0]
    count, names_at = struct.unpack_from("<HH", data, 60)
    if count > _MAX_SECTIONS:
        raise BadImage(f"{count} sections")
    headers = [_SECTION.unpack_from(data, table + i * _SECTION.size) for i in range(count)]
    contents = [data[header[4] : header[4] + header[5]] for header in headers]
    names = [_text(contents[names_at], header[0]) for header in headers]
    symbols_at = next(i for i, header in enumerate(headers) if header[1] == _SYMBOLS)
    strings = contents[headers[symbols_at][6]]
    symbols = [
        (_text(strings, name).decode(), where, value)
        for name, _, _, where, value, _ in _SYMBOL.iter_unpack(contents[symbols_at])
    ]
    maps_at, code_at = names.index(b"maps"), names.index(section)
    maps = {
        name: MapDefinition(*_MAP.unpack_from(contents[maps_at], value))
        for name, where, value in symbols
        if where == maps_at and name
    }
    code = contents[code_at]
    relocations = []
    for header, content in zip(headers, contents, strict=True):
        if header[1] == _RELOCATIONS and header[7] == code_at:
            for at, info in _RELOCATION.iter_unpack(content):
                name = symbols[info >> 32][0]
                if name not in maps or code[at] != _LOAD_64:
                    raise BadImage(f"a relocation to {name!r}, which is no map")
                relocations.append((at, name))
    return BpfObject(code, maps, tuple(relocations), contents[names.index(b"license")].rstrip(b"\0"))


def _text(strings: bytes, at: int) -> bytes:
    return strings[at : strings.index(b"\0", at)]
