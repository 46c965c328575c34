"""Function symbols of ELF files, sorted into a table for lookup by address.

Rules (System V gABI "Symbol Table"; checked against llvm-symbolizer and perf):
- a function is a symbol of type FUNC or IFUNC, or an untyped one (hand-written assembly), in an
  executable section; a stub of the procedure linkage table is a function too (`plt.py`);
- a symbol without a size reaches to the next symbol or the end of its section, and is only a label if
  it lies within one that has a size;
- of several at one address: sized before unsized, typed before untyped, GLOBAL before WEAK before
  LOCAL, then as perf: fewer leading underscores, the longer name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import NOWHERE, U64
from symbolizer.elf.file import MAX_STRING_BYTES, MAX_SYMBOLS, ElfFile
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
from symbolizer.tables.symbol_table import (
    MAX_NAME_BYTES,
    NO_SYMBOLS,
    Functions,
    Indexes,
    Names,
    SymbolTable,
)

U32 = npt.NDArray[np.uint32]

_AT_ONCE: Final = 1 << 16
"""Symbols per step; selecting functions among them takes 170 bytes for each."""
_TEXT_AT_ONCE: Final = 1 << 20
# Bits of a rank, from the most significant: unsized, untyped, scope, underscores, shortness.
_UNSIZED: Final = np.uint64(1 << 51)
_UNTYPED: Final = np.uint64(1 << 50)
_SCOPE: Final = np.uint64(1 << 48)
_UNDERSCORE: Final = np.uint64(1 << 32)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Candidates in parallel arrays, 40 bytes each; a candidate's name is at `at` of string table `table`."""

    start: U64
    size: U64
    limit: U64
    """End of its section."""
    rank: U64
    """Lower is better, among symbols at one address."""
    table: npt.NDArray[np.int32]
    at: U32

    def pick(self, which: npt.NDArray[np.bool_] | Indexes) -> "_Columns":
        return _Columns(*(getattr(self, name)[which] for name in self.__slots__))


def read_symbols(*files: ElfFile) -> SymbolTable:
    """The union of the files' .symtab, .dynsym, .gnu_debugdata and stubs; all must be of one build.

    All files together may have `MAX_SYMBOLS` symbols and `MAX_STRING_BYTES` of names. Reading those takes up to
    680 MiB, and the table 350 MiB. More raises `MalformedElf` before it is read, as do malformed files.
    """
    texts: list[bytes] = []
    stubs: set[int] = set()
    columns = _joined([_NONE, *_candidates(files, texts, stubs)])
    labels = _labels(columns)
    if labels.any():
        columns = columns.pick(~labels)
    if not len(columns.start):
        return NO_SYMBOLS
    order = np.lexsort((columns.at, columns.table, columns.rank, columns.start))
    starts = columns.start[order]
    return _table(columns.pick(order[np.append(True, starts[1:] != starts[:-1])]), texts, stubs)


def _candidates(files: tuple[ElfFile, ...], texts: list[bytes], stubs: set[int]) -> Iterator[_Columns]:
    """Functions and stubs of all files. Adds their string tables to `texts`, and the indexes of stubs' to `stubs`."""
    symbols_left, bytes_left = MAX_SYMBOLS, MAX_STRING_BYTES
    for file in _with_embedded(files):
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            tables = file.symbols(kind, most=symbols_left, string_bytes=bytes_left)
            for records, text in tables:
                texts.append(text)
                yield _functions(file, records, text, len(texts) - 1)
            symbols_left -= sum(len(records) for records, _ in tables)
            bytes_left -= sum({id(text): len(text) for _, text in tables}.values())
        found = read_stubs(file, tables)
        rank, table = np.zeros(len(found.starts), np.uint64), np.full(len(found.starts), len(texts), np.int32)
        stubs.add(len(texts))
        texts.append(found.text)
        yield _Columns(found.starts, found.sizes, found.starts + found.sizes, rank, table, found.at)


def _joined(parts: Sequence[_Columns]) -> _Columns:
    return _Columns(*(np.concatenate([getattr(part, name) for part in parts]) for name in _Columns.__slots__))


def _table(columns: _Columns, texts: list[bytes], stubs: set[int]) -> SymbolTable:
    following = np.append(columns.start[1:], columns.limit[-1:])
    reach = np.clip(np.minimum(following, columns.limit), columns.start, NOWHERE)
    is_sized = columns.size > 0
    return SymbolTable(
        Functions(columns.start, np.where(is_sized, _end(columns.start, columns.size), reach), is_sized),
        Names(texts, columns.table, columns.at.astype(np.uint64)),
        is_stripped=not np.isin(columns.table, list(stubs), invert=True).any(),
    )


def _with_embedded(files: tuple[ElfFile, ...]) -> Iterator[ElfFile]:
    """The files, then the files embedded in them, each unpacked on iteration."""
    yield from files
    for file in files:
        embedded = file.embedded_symbols
        if embedded is not None:
            yield embedded


def _functions(file: ElfFile, records: Records, text: bytes, table: int) -> _Columns:
    """The functions of a symbol table."""
    starts = range(0, len(records), _AT_ONCE)
    columns = _joined(
        [_NONE, *(_functions_in(file, records[at : at + _AT_ONCE], len(text), table) for at in starts)]
    )
    np.add(columns.rank, _plainness(text, columns.at), out=columns.rank)
    return columns


def _functions_in(file: ElfFile, records: Records, text_bytes: int, table: int) -> _Columns:
    """The functions among some records, ranked but for their names."""
    kind = records["info"] & 15
    keep = (kind == STT_FUNC) | (kind == STT_GNU_IFUNC) | (kind == STT_NOTYPE)
    keep &= (records["shndx"] != 0) & (records["shndx"] < min(SHN_LORESERVE, len(file.sections)))
    keep &= (records["name"] != 0) & (records["name"] < text_bytes)
    kept = records[keep]
    section = file.sections[kept["shndx"]]
    executable = (section["flags"] & SHF_EXECINSTR) != 0
    kept, section = kept[executable], section[executable]
    binding = kept["info"] >> 4
    scope = np.where(binding == STB_GLOBAL, 0, np.where(binding == STB_WEAK, 1, 2)).astype(np.uint64)
    unsized, untyped = kept["size"] == 0, (kept["info"] & 15) == STT_NOTYPE
    return _Columns(
        start=kept["value"].astype(np.uint64),
        size=kept["size"].astype(np.uint64),
        limit=section["addr"].astype(np.uint64) + section["size"].astype(np.uint64),
        rank=_UNSIZED * unsized + _UNTYPED * untyped + _SCOPE * scope,
        table=np.full(len(kept), table, np.int32),
        at=kept["name"].astype(np.uint32),
    )


def _labels(columns: _Columns) -> npt.NDArray[np.bool_]:
    """Which symbols are labels within a function: unsized, at an address that a sized symbol holds."""
    labels = np.zeros(len(columns.start), np.bool_)
    is_sized = columns.size > 0
    unsized = np.flatnonzero(~is_sized)
    if len(unsized) == len(labels):
        return labels
    starts = columns.start[is_sized]
    ends = _end(starts, columns.size[is_sized])
    order = np.argsort(starts)
    starts, reach = starts[order], np.maximum.accumulate(ends[order])
    before = np.searchsorted(starts, columns.start[unsized], "right").astype(np.int64) - 1
    labels[unsized] = (before >= 0) & (columns.start[unsized] < reach[before])
    return labels


def _plainness(text: bytes, at: U32) -> U64:
    """Rank of the names at offsets of a string table: few leading underscores, then length."""
    if not len(at):  # the table may be empty too
        return np.zeros(0, np.uint64)
    characters = np.frombuffer(text, np.uint8)
    underscores = np.zeros(len(at), np.uint64)
    leading = np.ones(len(at), np.bool_)
    for step in range(3):
        here = np.minimum(at + np.int64(step), len(text) - 1)
        leading &= characters[here] == ord("_")
        underscores += leading
    return np.asarray(_UNDERSCORE * (underscores + np.uint64(1)) - _lengths(characters, at))


def _lengths(characters: npt.NDArray[np.uint8], at: U32) -> U64:
    """Lengths of the names at these offsets, up to `MAX_NAME_BYTES`.

    The search for ends covers part of the table at a time, and only parts with names: the position of a NUL takes
    eight bytes, and a table may consist of NULs.
    """
    order = np.argsort(at)  # an ascending search is several times faster
    ascending = at[order].astype(np.int64)
    lengths = np.empty(len(at), np.uint64)
    first = 0
    while first < len(at):
        start = int(ascending[first])
        after = int(np.searchsorted(ascending, start + _TEXT_AT_ONCE))
        window = characters[start : start + _TEXT_AT_ONCE + MAX_NAME_BYTES]
        ends = start + np.append(np.flatnonzero(window == 0), len(window))
        some = ascending[first:after]
        lengths[order[first:after]] = np.minimum(ends[np.searchsorted(ends, some)] - some, MAX_NAME_BYTES)
        first = after
    return lengths


def _end(starts: U64, sizes: U64) -> U64:
    """Ends of sized symbols, limited to the address space."""
    return np.asarray(starts + np.minimum(sizes, NOWHERE - starts))


_NONE: Final = _Columns(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros(0, np.int32),
    np.zeros(0, np.uint32),
)
