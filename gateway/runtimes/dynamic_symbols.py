"""Looks up exported symbols of an ELF file by its hash table, as the dynamic loader does: a few small reads per name.

Sans I/O, as gateway/unwind/elf.py. The dynamic symbol table survives `strip`. Everything read is bounded, because any
program may map a file of its own making.
"""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from gateway.unwind.elf import ElfLayout, Read

_HEADER: Final = Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER: Final = Struct("<IIQQQQQQ")
_ENTRY: Final = Struct("<QQ")
_GNU_HASH: Final = Struct("<IIII")
_SYMBOL: Final = Struct("<IBBHQQ")
_WORD: Final = Struct("<I")
_PT_DYNAMIC: Final = 2
_DT_HASH: Final = 4
_DT_STRTAB: Final = 5
_DT_SYMTAB: Final = 6
_DT_GNU_HASH: Final = 0x6FFFFEF5
_MAX_DYNAMIC_BYTES: Final = 16 << 10
_MAX_HEADERS: Final = 64
_MAX_CHAIN: Final = 4096


class Symbol(NamedTuple):
    """A defined symbol: virtual address and size."""

    address: int
    size: int


class DynamicSymbols:
    """The exported symbols of one file."""

    def __init__(self, layout: ElfLayout, read: Read) -> None:
        self._layout = layout
        self._read = read
        self._tables = self._dynamic()

    def find(self, name: str) -> Symbol | None:
        """The symbol of that name; None: not exported, or the file is damaged."""
        raw = name.encode()
        try:
            if _DT_GNU_HASH in self._tables:
                return self._find_gnu(raw)
            if _DT_HASH in self._tables:
                return self._find_sysv(raw)
        except (error, ValueError):
            pass
        return None

    def _dynamic(self) -> dict[int, int]:
        try:
            *_, table, _, _, _, size, count, _, _, _ = _HEADER.unpack(self._read(0, _HEADER.size))
            if size != _PROGRAM_HEADER.size:
                return {}
            raw = self._read(table, min(count, _MAX_HEADERS) * size)
            for kind, _, offset, _, _, length, _, _ in _PROGRAM_HEADER.iter_unpack(raw):
                if kind == _PT_DYNAMIC:
                    entries = self._read(offset, min(length, _MAX_DYNAMIC_BYTES) & ~15)
                    return dict(_ENTRY.iter_unpack(entries))
        except error:
            pass
        return {}

    def _at(self, address: int, size: int) -> bytes:
        offset = self._layout.offset(address)
        if offset is None:
            raise ValueError(f"{address:#x} is not in the file")
        return self._read(offset, size)

    def _symbol(self, index: int, name: bytes) -> Symbol | None:
        raw = self._at(self._tables[_DT_SYMTAB] + index * _SYMBOL.size, _SYMBOL.size)
        text, _, _, section, address, size = _SYMBOL.unpack(raw)
        found = self._at(self._tables[_DT_STRTAB] + text, len(name) + 1)
        return Symbol(address, size) if section and address and found == name + b"\0" else None

    def _find_gnu(self, name: bytes) -> Symbol | None:
        table = self._tables[_DT_GNU_HASH]
        buckets, first, bloom_words, _ = _GNU_HASH.unpack(self._at(table, _GNU_HASH.size))
        if not buckets:
            return None
        hashed = 5381
        for byte in name:
            hashed = (hashed * 33 + byte) & 0xFFFFFFFF
        at = table + _GNU_HASH.size + bloom_words * 8
        index = _WORD.unpack(self._at(at + hashed % buckets * 4, 4))[0]
        if index < first:
            return None
        chains = at + buckets * 4
        for _ in range(_MAX_CHAIN):
            stored = _WORD.unpack(self._at(chains + (index - first) * 4, 4))[0]
            if stored | 1 == hashed | 1 and (found := self._symbol(index, name)):
                return found
            if stored & 1:
                return None
            index += 1
        return None

    def _find_sysv(self, name: bytes) -> Symbol | None:
        table = self._tables[_DT_HASH]
        buckets = _WORD.unpack(self._at(table, 4))[0]
        if not buckets:
            return None
        hashed = 0
        for byte in name:
            hashed = (hashed << 4) + byte
            hashed = (hashed ^ (hashed & 0xF0000000) >> 24) & 0x0FFFFFFF
        index = _WORD.unpack(self._at(table + 8 + hashed % buckets * 4, 4))[0]
        for _ in range(_MAX_CHAIN):
            if not index:
                return None
            if found := self._symbol(index, name):
                return found
            index = _WORD.unpack(self._at(table + 8 + (buckets + index) * 4, 4))[0]
        return None
