"""Function symbols of an ELF file, sorted for look-up by address.

Rules (System V gABI "Symbol Table"; checked against llvm-symbolizer and perf):
- a function is a symbol of type FUNC or IFUNC, or an untyped one (hand-written assembly), in an
  executable section; a stub of the procedure linkage table is one too (`plt.py`);
- a symbol without a size reaches to the next symbol or the end of its section, and is only a label if
  it lies within one that has a size;
- of several at one address: sized before unsized, typed before untyped, GLOBAL before WEAK before
  LOCAL, then as perf: fewer leading underscores, the longer name;
- where one lies within another, the innermost holds the address;
- an address outside [start, end) of every symbol is a miss. It is never given to the nearest one.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import NOWHERE, U64, ElfVaddrs
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
from symbolizer.plt import read_stubs

MISS: Final = -1
MAX_NAME_BYTES: Final = 1 << 16
MAX_NESTING: Final = 64
_COLD: Final = re.compile(r"\.cold(?:\.\d+)?$")

# Bits of a rank, from the most significant: unsized, untyped, scope, underscores, shortness.
_UNSIZED: Final = np.uint64(1 << 51)
_UNTYPED: Final = np.uint64(1 << 50)
_SCOPE: Final = np.uint64(1 << 48)
_UNDERSCORE: Final = np.uint64(1 << 32)

Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function's name as the table has it, and its half-open range of virtual addresses."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Columns:
    """Candidates in parallel arrays; the name of one is at `at` of string table `table`."""

    start: U64
    size: U64
    limit: U64
    """End of its section."""
    rank: U64
    """The lower the better, among symbols at one address."""
    table: npt.NDArray[np.int32]
    at: U64

    def pick(self, which: npt.NDArray[np.bool_] | Indexes) -> "_Columns":
        return _Columns(*(getattr(self, name)[which] for name in self.__slots__))


class SymbolTable:
    """Functions by virtual address; parallel arrays, strictly ascending by start."""

    def __init__(self, columns: _Columns, texts: list[bytes], stubs: set[int]) -> None:
        self.starts = columns.start
        following = np.append(self.starts[1:], columns.limit[-1:])
        reach = np.clip(np.minimum(following, columns.limit), self.starts, NOWHERE)
        self.is_sized = columns.size > 0
        self.ends = np.where(self.is_sized, _end(columns), reach)
        self._table = columns.table
        self._at = columns.at
        self._texts = texts
        self.is_stripped = not np.isin(columns.table, list(stubs), invert=True).any()
        """No function of its own has a name; at best the stubs of other libraries' do."""

    def __len__(self) -> int:
        return len(self.starts)

    def find(self, addresses: ElfVaddrs) -> Indexes:
        """Index of the innermost symbol that holds each address, `MISS` where none does."""
        if not len(self.starts):
            return np.full(len(addresses.values), MISS, np.int64)
        index = np.searchsorted(self.starts, addresses.values, "right").astype(np.int64) - 1
        outside = np.flatnonzero((index >= 0) & (addresses.values >= self.ends[index]))
        for _ in range(MAX_NESTING):
            if not len(outside):
                return index
            index[outside] = self._around[index[outside]]
            still = (index[outside] >= 0) & (addresses.values[outside] >= self.ends[index[outside]])
            outside = outside[still]
        index[outside] = MISS
        return index

    @cached_property
    def _around(self) -> Indexes:
        """The symbol that holds each one's start, the latest begun; `MISS` for most."""
        around = np.full(len(self.starts), MISS, np.int64)
        reach = np.maximum.accumulate(self.ends)
        overlapping = np.flatnonzero(self.starts[1:] < reach[:-1])
        open_ones: list[int] = []
        for before, start in zip(overlapping.tolist(), self.starts[1:][overlapping].tolist(), strict=True):
            open_ones.append(before)
            while open_ones and self.ends[open_ones[-1]] <= start:
                open_ones.pop()
            if open_ones:
                around[before + 1] = open_ones[-1]
        return around

    def find_name(self, name: str) -> int:
        """Index of a symbol of this name, `MISS` if there is none."""
        return self._by_name.get(name, MISS)

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {self.symbol(index).name: index for index in range(len(self))}

    def symbol(self, index: int) -> Symbol:
        """The symbol of an index that `find` gave."""
        name = _text(self._texts[self._table[index]], int(self._at[index]))
        return Symbol(name.decode("utf-8", "replace"), int(self.starts[index]), int(self.ends[index]))


def read_symbols(*files: ElfFile) -> SymbolTable:
    """The union of the files' .symtab, .dynsym, .gnu_debugdata and stubs; all must be of one build.

    Raises `MalformedElf`.
    """
    texts: list[bytes] = []
    stubs: set[int] = set()
    parts = [_NONE]
    for file in _with_embedded(files):
        for records, text in file.symbols(SHT_SYMTAB) + file.symbols(SHT_DYNSYM):
            parts.append(_functions(file, records, text, len(texts)))
            texts.append(text)
        starts, sizes, names = read_stubs(file)
        at = np.cumsum([0, *(len(name) + 1 for name in names)], dtype=np.uint64)[:-1]
        rank = np.zeros(len(starts), np.uint64)
        stubs.add(len(texts))
        parts.append(
            _Columns(starts, sizes, starts + sizes, rank, np.full(len(starts), len(texts), np.int32), at)
        )
        texts.append(b"".join(name + b"\0" for name in names))
    columns = _Columns(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in _Columns.__slots__)
    )
    columns = columns.pick(~_labels(columns))
    if not len(columns.start):
        return NO_SYMBOLS
    columns = columns.pick(np.lexsort((columns.at, columns.table, columns.rank, columns.start)))
    return SymbolTable(columns.pick(np.append(True, columns.start[1:] != columns.start[:-1])), texts, stubs)


def _with_embedded(files: tuple[ElfFile, ...]) -> list[ElfFile]:
    embedded = [file.embedded_symbols for file in files]
    return [*files, *(file for file in embedded if file is not None)]


def _functions(file: ElfFile, records: Records, text: bytes, table: int) -> _Columns:
    sections = file.sections
    kind = records["info"] & 15
    keep = (kind == STT_FUNC) | (kind == STT_GNU_IFUNC) | (kind == STT_NOTYPE)
    keep &= (records["shndx"] != 0) & (records["shndx"] < min(SHN_LORESERVE, len(sections)))
    keep &= (records["name"] != 0) & (records["name"] < len(text))
    kept = records[keep]
    section = sections[kept["shndx"]]
    executable = (section["flags"] & SHF_EXECINSTR) != 0
    kept, section = kept[executable], section[executable]
    binding = kept["info"] >> 4
    scope = np.where(binding == STB_GLOBAL, 0, np.where(binding == STB_WEAK, 1, 2)).astype(np.uint64)
    unsized, untyped = kept["size"] == 0, (kept["info"] & 15) == STT_NOTYPE
    at = kept["name"].astype(np.uint64)
    return _Columns(
        start=kept["value"].astype(np.uint64),
        size=kept["size"].astype(np.uint64),
        limit=section["addr"].astype(np.uint64) + section["size"].astype(np.uint64),
        rank=_UNSIZED * unsized + _UNTYPED * untyped + _SCOPE * scope + _plainness(text, at),
        table=np.full(len(kept), table, np.int32),
        at=at,
    )


def _labels(columns: _Columns) -> npt.NDArray[np.bool_]:
    """Which symbols are labels within a function: unsized, at an address that a sized one holds."""
    labels = np.zeros(len(columns.start), np.bool_)
    unsized = np.flatnonzero(columns.size == 0)
    if len(unsized) == len(labels):
        return labels
    sized = columns.pick(columns.size > 0)
    order = np.argsort(sized.start)
    starts, reach = sized.start[order], np.maximum.accumulate(_end(sized)[order])
    before = np.searchsorted(starts, columns.start[unsized], "right").astype(np.int64) - 1
    labels[unsized] = (before >= 0) & (columns.start[unsized] < reach[before])
    return labels


def _plainness(text: bytes, at: U64) -> U64:
    """Rank of the names at offsets of a string table: few leading underscores, then length."""
    characters = np.frombuffer(text, np.uint8)
    ends = np.append(np.flatnonzero(characters == 0), len(text)).astype(np.uint64)
    order = np.argsort(at)  # an ascending search is several times faster
    length = np.empty(len(at), np.uint64)
    length[order] = ends[np.searchsorted(ends, at[order])] - at[order]
    underscores = np.zeros(len(at), np.uint64)
    leading = np.ones(len(at), np.bool_)
    for step in range(3):
        here = np.minimum(at + np.uint64(step), np.uint64(len(text) - 1))
        leading &= characters[here] == ord("_")
        underscores += leading
    return np.asarray(_UNDERSCORE * (underscores + np.uint64(1)) - np.minimum(length, _UNDERSCORE))


def _text(table: bytes, at: int) -> bytes:
    end = table.find(b"\0", at, at + MAX_NAME_BYTES)
    return table[at : end if end >= 0 else at + MAX_NAME_BYTES]


def _end(columns: _Columns) -> U64:
    """Ends of sized symbols, not beyond the address space."""
    return np.asarray(columns.start + np.minimum(columns.size, NOWHERE - columns.start))


_NONE: Final = _Columns(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.int32),
    np.zeros(0, np.uint64),
)


def whole_name(raw: str) -> str:
    """The function that a symbol is, or is the part of that a compiler moved away as seldom executed."""
    return _COLD.sub("", raw)


NO_SYMBOLS: Final = SymbolTable(_NONE, [], set())
