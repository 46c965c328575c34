"""/proc/kallsyms: names of the running kernel's and its modules' functions, by offset.

Lines are `address type name [module]`; types t, T, w, W are code (nm(1)). Addresses are of this boot
(KASLR), so they are turned into offsets at once: from `_stext` for the kernel, from the load address
for a module. A symbol reaches to the next one of its image; the last to the end of its page. Of
several names at one address the choice is perf's: global before local before weak, fewer leading
underscores, the longer name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import PAGE_SIZE, U64, FileOffsets
from symbolizer.elf import ElfFile
from symbolizer.elf_records import SHT_SYMTAB
from symbolizer.errors import MalformedImage, SymbolsHidden
from symbolizer.symtab import read_symbols

MAX_BYTES: Final = 1 << 28
MISS: Final = -1

_SCOPE: Final = {b"T": 0, b"t": 1, b"W": 2, b"w": 2}
_MARKERS: Final = frozenset({b"_stext", b"_text", b"_etext", b"_sinittext", b"_einittext", b"__init_begin"})
"""Linker symbols that share an address with a function; they name a boundary, not the function."""


@dataclass(frozen=True, slots=True)
class OffsetTable:
    """Functions of the kernel or one module, ascending by offset."""

    starts: U64
    ends: U64
    names: tuple[bytes, ...]

    def find(self, offsets: FileOffsets) -> npt.NDArray[np.int64]:
        """Index of the function that holds each offset, `MISS` where none does."""
        if not self.names:
            return np.full(len(offsets.values), MISS, np.int64)
        index = np.searchsorted(self.starts, offsets.values, "right").astype(np.int64) - 1
        inside = (index >= 0) & (offsets.values < self.ends[np.maximum(index, 0)])
        return np.where(inside, index, MISS)


@dataclass(frozen=True, slots=True)
class Kallsyms:
    """The symbols of one boot."""

    kernel: OffsetTable
    modules: Mapping[str, OffsetTable]
    """By module name, without brackets. A module is here only if its load address was given."""


def parse_kallsyms(text: bytes, module_bases: Mapping[str, int]) -> Kallsyms:
    """Parse the whole of /proc/kallsyms; `module_bases` are the modules' load addresses.

    Raises `SymbolsHidden` if every address is 0 (kptr_restrict), `MalformedImage` if `_stext` is missing.
    """
    if len(text) > MAX_BYTES:
        raise MalformedImage(f"kallsyms of {len(text)} bytes; the limit is {MAX_BYTES}.")
    found: dict[bytes, list[tuple[int, int, bytes]]] = {}
    stext = 0
    for line in text.splitlines():
        fields = line.split(None, 3)
        if len(fields) < 3:
            continue
        scope = _SCOPE.get(fields[1])
        if scope is None:
            continue
        try:
            address = int(fields[0], 16)
        except ValueError as error:
            raise MalformedImage(f"kallsyms has the address {fields[0]!r}.") from error
        if address >= 1 << 64:
            raise MalformedImage("kallsyms has an address over 64 bits.")
        if fields[2] == b"_stext":
            stext = address
        module = fields[3].strip(b"[] \t") if len(fields) > 3 else b""
        found.setdefault(module, []).append((address, scope, fields[2]))
    if found and not any(address for symbols in found.values() for address, _, _ in symbols):
        raise SymbolsHidden("The kernel hides its symbol addresses (kptr_restrict).")
    if not stext:
        raise MalformedImage("kallsyms names no _stext.")
    modules = {
        name: _table(found[name.encode()], base)
        for name, base in module_bases.items()
        if name.encode() in found
    }
    return Kallsyms(_table(found[b""], stext), modules)


def kallsyms_of(vmlinux: ElfFile) -> Kallsyms:
    """The functions that a kernel's own file names, without modules.

    Raises `MalformedElf`, `MalformedImage` if `_stext` is missing.
    """
    symbols = read_symbols(vmlinux)
    start = _stext(vmlinux)
    first = int(np.searchsorted(symbols.starts, start))
    names = tuple(symbols.symbol(index).name.encode() for index in range(first, len(symbols)))
    return Kallsyms(OffsetTable(symbols.starts[first:] - start, symbols.ends[first:] - start, names), {})


def _stext(vmlinux: ElfFile) -> np.uint64:
    """Where offsets of the kernel count from; no function, so not in the table of functions."""
    for records, text in vmlinux.symbols(SHT_SYMTAB):
        at = text.find(b"\0_stext\0") + 1
        if at and (records["name"] == at).any():
            return np.uint64(records["value"][records["name"] == at][0])
    raise MalformedImage("Its symbols name no _stext.")


def _table(symbols: list[tuple[int, int, bytes]], base: int) -> OffsetTable:
    symbols.sort(key=_preference)
    starts: list[int] = []
    names: list[bytes] = []
    for address, _, name in symbols:
        if address >= base and (not starts or address - base != starts[-1]):
            starts.append(address - base)
            names.append(name)
    last = starts[-1] if starts else 0
    end = (base + last) // PAGE_SIZE * PAGE_SIZE + PAGE_SIZE - base
    return OffsetTable(
        np.array(starts, np.uint64), np.array([*starts[1:], end] if starts else [], np.uint64), tuple(names)
    )


def _preference(symbol: tuple[int, int, bytes]) -> tuple[int, bool, int, int, int, bytes]:
    address, scope, name = symbol
    underscores = len(name) - len(name.lstrip(b"_"))
    return address, name in _MARKERS, scope, underscores, -len(name), name
