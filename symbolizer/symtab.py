"""Function symbols of an ELF file, sorted for look-up by address.

Rules (System V gABI "Symbol Table"; checked against llvm-symbolizer):
- a function is a symbol of type FUNC or IFUNC, or an untyped one (hand-written assembly) in an
  executable section;
- of several at one address the first is taken by: sized before unsized, typed before untyped, GLOBAL
  before WEAK before LOCAL, then the lower string offset, so that the choice does not vary;
- a symbol without a size reaches to the next symbol or the end of its section;
- an address outside [start, end) of every symbol is a miss. It is never given to the nearest one.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import U64, ElfVaddrs
from symbolizer.elf import ElfFile
from symbolizer.elf_records import (
    SHF_EXECINSTR,
    SHN_LORESERVE,
    SHT_DYNSYM,
    SHT_SYMTAB,
    STB_GLOBAL,
    STB_WEAK,
    STT_FUNC,
    STT_GNU_IFUNC,
    STT_NOTYPE,
    Records,
)

MISS: Final = -1
MAX_NAME_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function's name as the table has it, and its half-open range of virtual addresses."""

    name: str
    start: int
    end: int


class SymbolTable:
    """Functions by virtual address. The arrays run in parallel, ascending by start."""

    def __init__(
        self, starts: U64, ends: U64, names: list[bytes], table: npt.NDArray[np.int32], at: U64
    ) -> None:
        """`names` are string tables; the name of symbol i is at `at[i]` of `names[table[i]]`."""
        self.starts = starts
        self.ends = ends
        self._names = names
        self._table = table
        self._at = at

    def __len__(self) -> int:
        return len(self.starts)

    def find(self, addresses: ElfVaddrs) -> npt.NDArray[np.int64]:
        """Index of the symbol that holds each address, `MISS` where none does."""
        if not len(self.starts):
            return np.full(len(addresses.values), MISS, np.int64)
        index = np.searchsorted(self.starts, addresses.values, "right").astype(np.int64) - 1
        inside = (index >= 0) & (addresses.values < self.ends[np.maximum(index, 0)])
        return np.where(inside, index, MISS)

    def symbol(self, index: int) -> Symbol:
        """The symbol of an index that `find` gave."""
        text, at = self._names[self._table[index]], int(self._at[index])
        end = text.find(b"\0", at, at + MAX_NAME_BYTES)
        name = text[at : end if end >= 0 else min(len(text), at + MAX_NAME_BYTES)]
        return Symbol(name.decode("utf-8", "replace"), int(self.starts[index]), int(self.ends[index]))


NO_SYMBOLS: Final = SymbolTable(
    np.zeros(0, np.uint64), np.zeros(0, np.uint64), [], np.zeros(0, np.int32), np.zeros(0, np.uint64)
)


def read_symbols(*files: ElfFile) -> SymbolTable:
    """The union of the files' .symtab, .dynsym and .gnu_debugdata; all must be of one build.

    Raises `MalformedElf`.
    """
    starts, sizes, ranks, ats, tables = [], [], [], [], []
    limits: list[U64] = []
    names: list[bytes] = []
    for file in _with_embedded(files):
        for records, text in file.symbols(SHT_SYMTAB) + file.symbols(SHT_DYNSYM):
            keep, limit = _functions(file, records, len(text))
            kept = records[keep]
            starts.append(kept["value"].astype(np.uint64))
            sizes.append(kept["size"].astype(np.uint64))
            limits.append(limit)
            ranks.append(_rank(kept))
            ats.append(kept["name"].astype(np.uint64))
            tables.append(np.full(len(kept), len(names), np.int32))
            names.append(text)
    if not starts:
        return NO_SYMBOLS
    start, size, limit = np.concatenate(starts), np.concatenate(sizes), np.concatenate(limits)
    rank, at, table = np.concatenate(ranks), np.concatenate(ats), np.concatenate(tables)
    order = np.lexsort((at, table, rank, start))
    order = order[np.append(True, start[order][1:] != start[order][:-1])] if len(order) else order
    start, size, limit = start[order], size[order], limit[order]
    following = np.append(start[1:], limit[-1:])
    end = np.where(size == 0, np.minimum(following, np.maximum(limit, start)), start + size)
    return SymbolTable(start, np.maximum(end, start), names, table[order], at[order])


def _with_embedded(files: tuple[ElfFile, ...]) -> list[ElfFile]:
    embedded = [file.embedded_symbols for file in files]
    return [*files, *(file for file in embedded if file is not None)]


def _functions(file: ElfFile, records: Records, text_bytes: int) -> tuple[npt.NDArray[np.bool_], U64]:
    """Which symbols are functions, and for those the end of their section."""
    sections = file.sections
    kind = records["info"] & 15
    keep = (kind == STT_FUNC) | (kind == STT_GNU_IFUNC) | (kind == STT_NOTYPE)
    keep &= (records["shndx"] != 0) & (records["shndx"] < min(SHN_LORESERVE, len(sections)))
    keep &= (records["name"] != 0) & (records["name"] < text_bytes)
    if not len(sections):
        return np.zeros(len(records), np.bool_), np.zeros(0, np.uint64)
    section = np.minimum(records["shndx"], len(sections) - 1)
    keep &= (sections["flags"][section] & SHF_EXECINSTR) != 0
    kept = section[keep]
    return keep, sections["addr"][kept].astype(np.uint64) + sections["size"][kept].astype(np.uint64)


def _rank(records: Records) -> npt.NDArray[np.uint8]:
    binding = records["info"] >> 4
    scope = np.where(binding == STB_GLOBAL, 0, np.where(binding == STB_WEAK, 1, 2))
    untyped = (records["info"] & 15) == STT_NOTYPE
    return np.asarray(scope + 4 * untyped + 8 * (records["size"] == 0), np.uint8)
