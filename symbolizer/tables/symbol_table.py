"""Functions by virtual address: the common form of symbols from all sources, and their lookup.

Rules (checked against llvm-symbolizer and perf): if one function lies within another, the innermost one
holds the address. An address outside [start, end) of all functions is a miss, never given to the nearest.
"""

import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import U64, ElfVaddrs

MISS: Final = -1
_MAX_AT: Final = 1 << 62
"""Far beyond the end of any file; positions must fit in 63 bits."""
MAX_NAME_BYTES: Final = 1 << 16
MAX_NESTING: Final = 64
_AT_ONCE: Final = 1 << 16
_BYTES_EACH: Final = 37
"""Bytes of one function's columns, `around` included."""
_COLD: Final = re.compile(r"\.cold(?:\.\d+)?$")

Indexes = npt.NDArray[np.int64]


class Text(Protocol):
    """A string table: `bytes`, or a mapped file."""

    def find(self, sub: bytes, start: int, end: int, /) -> int:
        """As `bytes.find`."""

    def __getitem__(self, where: slice, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function's name as stored in the table, and its half-open range of virtual addresses."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Functions:
    """n functions, strictly ascending by start."""

    starts: U64
    ends: U64
    is_sized: npt.NDArray[np.bool_]
    """The symbol states its size; the others reach to the next one."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of n functions: that of function i is in `texts[table[i]]`, from `at[i]` to the next NUL."""

    texts: Sequence[Text]
    table: npt.NDArray[np.int32]
    at: U64

    def __getitem__(self, index: int) -> bytes:
        """The name; b"" if its position is beyond the text, as in a damaged file."""
        text, start = self.texts[int(self.table[index])], int(self.at[index])
        if start > _MAX_AT:
            return b""
        end = text.find(b"\0", start, start + MAX_NAME_BYTES)
        return text[start : end if end >= 0 else start + MAX_NAME_BYTES]


@dataclass(frozen=True, slots=True)
class NameIndex:
    """Functions by CRC-32 of their names: `order[i]` has the hash `hashes[i]`; hashes ascend."""

    hashes: npt.NDArray[np.uint32]
    order: npt.NDArray[np.uint32]


class SymbolTable:
    """Functions by virtual address. Immutable; optional parts are computed on first use."""

    def __init__(
        self,
        functions: Functions,
        names: Names,
        *,
        is_stripped: bool,
        around: Indexes | None = None,
        by_name: NameIndex | None = None,
    ) -> None:
        """`is_stripped`: none of the file's own functions has a name, at most the PLT stubs do."""
        self.starts = functions.starts
        self.ends = functions.ends
        self.is_sized = functions.is_sized
        self.is_stripped = is_stripped
        self._names = names
        if around is not None:
            self.around = around
        if by_name is not None:
            self.by_name = by_name

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def memory_bytes(self) -> int:
        """Memory of this process that the table takes; mapped files do not count."""
        texts = sum(len(text) for text in self._names.texts if isinstance(text, bytes))
        return texts + _BYTES_EACH * len(self) if texts else 0

    def find(self, addresses: ElfVaddrs) -> Indexes:
        """Index of the innermost symbol that holds each address, `MISS` if there is none."""
        if not len(self.starts):
            return np.full(len(addresses.values), MISS, np.int64)
        index = np.searchsorted(self.starts, addresses.values, "right").astype(np.int64) - 1
        outside = np.flatnonzero((index >= 0) & (addresses.values >= self.ends[index]))
        for _ in range(MAX_NESTING):
            if not len(outside):
                return index
            index[outside] = self.around[index[outside]]
            still = (index[outside] >= 0) & (addresses.values[outside] >= self.ends[index[outside]])
            outside = outside[still]
        index[outside] = MISS
        return index

    @cached_property
    def around(self) -> Indexes:
        """For each symbol, the latest-starting symbol that holds its start; `MISS` for most."""
        around = np.full(len(self.starts), MISS, np.int64)
        reach = np.maximum.accumulate(self.ends)
        overlapping = np.flatnonzero(self.starts[1:] < reach[:-1])
        open_ones = array("q")
        for first in range(0, len(overlapping), _AT_ONCE):  # one list for all would take eight times as much
            some = overlapping[first : first + _AT_ONCE]
            for before, start in zip(some.tolist(), self.starts[1:][some].tolist(), strict=True):
                open_ones.append(before)
                while open_ones and self.ends[open_ones[-1]] <= start:
                    open_ones.pop()
                if open_ones:
                    around[before + 1] = open_ones[-1]
        return around

    @cached_property
    def by_name(self) -> NameIndex:
        """The index for `find_name`."""
        hashes = np.array([zlib.crc32(self._names[index]) for index in range(len(self))], np.uint32)
        order = np.argsort(hashes, kind="stable")
        return NameIndex(hashes[order], order.astype(np.uint32))

    def find_name(self, name: str) -> int:
        """Index of the first symbol with this name; `MISS` if there is none."""
        return next(self.find_names(name), MISS)

    def find_names(self, name: str) -> Iterator[int]:
        """Indexes of the symbols with this name, ascending: local functions of several files may share one."""
        wanted = name.encode()
        index = self.by_name
        first, after = (
            int(np.searchsorted(index.hashes, np.uint32(zlib.crc32(wanted)), side))
            for side in ("left", "right")
        )
        return (i for i in index.order[first:after].tolist() if self._names[i] == wanted)

    def symbol(self, index: int) -> Symbol:
        """The symbol of an index that `find` returned."""
        name = self._names[index].decode("utf-8", "replace")
        return Symbol(name, int(self.starts[index]), int(self.ends[index]))

    def name(self, index: int) -> bytes:
        """The symbol's name, as stored in the file."""
        return self._names[index]


def whole_name(raw: str) -> str:
    """Name of the function; for a part that the compiler split off as cold, that of the whole function."""
    return _COLD.sub("", raw)


NO_SYMBOLS: Final = SymbolTable(
    Functions(np.zeros(0, np.uint64), np.zeros(0, np.uint64), np.zeros(0, np.bool_)),
    Names([], np.zeros(0, np.int32), np.zeros(0, np.uint64)),
    is_stripped=True,
)
