"""Function symbols of ELF files, sorted into a table for look-up by address.

Rules (System V gABI "Symbol Table"; checked against llvm-symbolizer and perf):
- a function is a symbol of type FUNC or IFUNC, or an untyped one (hand-written assembly), in an
  executable section; a stub of the procedure linkage table is one too (`plt.py`);
- a symbol without a size reaches to the next symbol or the end of its section, and is only a label if
  it lies within one that has a size;
- of several at one address: sized before unsized, typed before untyped, GLOBAL before WEAK before
  LOCAL, then as perf: fewer leading underscores, the longer name.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import NOWHERE, U64
from symbolizer.elf.file import ElfFile
from symbolizer.elf.plt import read_stubs
from symbolizer.elf.records import (
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
from symbolizer.tables.symbol_table import NO_SYMBOLS, Functions, Indexes, Names, SymbolTable

# Bits of a rank, from the most significant: unsized, untyped, scope, underscores, shortness.
_UNSIZED: Final = np.uint64(1 << 51)
_UNTYPED: Final = np.uint64(1 << 50)
_SCOPE: Final = np.uint64(1 << 48)
_UNDERSCORE: Final = np.uint64(1 << 32)


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
    return _table(columns.pick(np.append(True, columns.start[1:] != columns.start[:-1])), texts, stubs)


def _table(columns: _Columns, texts: list[bytes], stubs: set[int]) -> SymbolTable:
    following = np.append(columns.start[1:], columns.limit[-1:])
    reach = np.clip(np.minimum(following, columns.limit), columns.start, NOWHERE)
    is_sized = columns.size > 0
    return SymbolTable(
        Functions(columns.start, np.where(is_sized, _end(columns), reach), is_sized),
        Names(texts, columns.table, columns.at),
        is_stripped=not np.isin(columns.table, list(stubs), invert=True).any(),
    )


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
    if not len(at):  # then the table may be empty too
        return np.zeros(0, np.uint64)
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
