"""SymCache files read with mmap and numpy: many addresses at once, including inlined calls.

A SymCache (getsentry/symbolic, crate symbolic-symcache, versions 7 to 9) is flat arrays of u32, each
aligned to 8 bytes, in native little-endian order:

    magic, version          8 bytes
    header                 72 bytes: debug id, architecture, then five counts
    files                  v7, v8: 3 words: compilation directory, directory, name (string offsets);
                           v9: 6 words, the same three first
    functions              4 words: name, compilation directory, entry address, language
    source locations       4 words: file, line, function, the location it is inlined into
    ranges                 1 word: start address; range i is of location (locations − ranges + i)
    strings                length (LEB128; v7: u32), then UTF-8

Addresses count from the first PT_LOAD of the file it was built from. 0xFFFFFFFF means none. A range
without a function marks addresses outside all functions. Numpy looks up 3 million addresses a second; the
library, which is called once per address, 45 thousand.
"""

import mmap
import posixpath
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import CacheAddresses
from symbolizer.errors import MalformedSymCache
from symbolizer.tables.address_table import MISS, NONE, AddressTable, Chains, Indexes, Location
from symbolizer.tables.symbol_table import MAX_NAME_BYTES

SUPPORTED_VERSIONS: Final = (7, 8, 9)
MAX_INLINE_DEPTH: Final = 256
STRINGS_KEPT: Final = 8192
"""Limit of cached strings, and of cached paths: one capture's lines in one file; some 2 MB. `ElfImage` caches names."""

_LONGEST_PATH: Final = 4096
"""PATH_MAX (path_resolution(7)): any number of files may share a folder's name."""
MAGIC: Final = b"SYMC"
_HEADER_WORDS: Final = 20
_COUNTS_AT: Final = 11


class SymCache:
    """One SymCache in a file that is mapped read-only for the object's lifetime; processes share its pages.

    The file must not shrink meanwhile; files of the cache are only replaced by rename. A removed file stays
    readable while it is mapped.
    """

    def __init__(
        self,
        mapped: mmap.mmap,
        start: int = 0,
        size: int | None = None,
        *,
        nameless: npt.NDArray[np.uint32] | None = None,
    ) -> None:
        """The SymCache has `size` bytes from `start`, a multiple of 8; None: to the end of the file.

        `nameless`: a stored value of `self.nameless`.
        """
        self._map = mapped
        self._end = len(mapped) if size is None else start + size
        if mapped[start : start + 4] != MAGIC:
            raise MalformedSymCache("It is not a SymCache file.")
        if start + 4 * _HEADER_WORDS > self._end or self._end > len(mapped):
            raise MalformedSymCache("The header of the SymCache file is cut off.")
        words = np.frombuffer(self._map, "<u4", _HEADER_WORDS, start)
        self.version = int(words[1])
        if self.version not in SUPPORTED_VERSIONS:
            raise MalformedSymCache(
                f"The SymCache file has version {self.version}; this reader supports 7 to 9."
            )
        files, functions, locations, ranges, self._string_bytes = (
            int(count) for count in words[_COUNTS_AT : _COUNTS_AT + 5]
        )
        if ranges > locations:
            raise MalformedSymCache("The SymCache file has more ranges than locations.")
        self._at = start + 4 * _HEADER_WORDS
        self._files = self._table(files, 6 if self.version >= 9 else 3)
        self._functions = self._table(functions, 4)
        self._locations = self._table(locations, 4)
        self._ranges = self._table(ranges, 1)[:, 0]
        self._first_ranged = locations - ranges
        self._at = -(-self._at // 8) * 8
        if self._at + self._string_bytes > self._end:
            raise MalformedSymCache("The strings of the SymCache file are cut off.")
        if nameless is not None:
            self.nameless = nameless
        # Not `lru_cache` on a method: it would create a reference cycle, and a dropped image's mapping and
        # descriptor would stay open until the next full garbage collection.
        self._strings: dict[int, str] = {}
        self._paths: dict[int, str] = {}

    def _table(self, rows: int, words: int) -> npt.NDArray[np.uint32]:
        start = -(-self._at // 8) * 8
        self._at = start + 4 * rows * words
        if self._at > self._end:
            raise MalformedSymCache(
                f"The SymCache file ends at {self._end}; a table of it reaches {self._at}."
            )
        return np.frombuffer(self._map, "<u4", rows * words, start).reshape(rows, words)

    @property
    def function_count(self) -> int:
        """Distinct functions, inlined ones included."""
        return len(self._functions)

    def chains(self, addresses: CacheAddresses) -> Chains:
        """Chains of the addresses; fastest if they ascend. Raises `MalformedSymCache`."""
        leaves = self._leaves(addresses)
        try:
            return self._unfold(leaves)
        except IndexError as error:
            raise MalformedSymCache("A location of the SymCache file points outside it.") from error

    def _leaves(self, addresses: CacheAddresses) -> Indexes:
        known = addresses.values < NONE
        if not len(self._ranges):
            return np.full(len(known), MISS, np.int64)
        keys = np.where(known, addresses.values, 0).astype(np.uint32)
        index = np.searchsorted(self._ranges, keys, "right").astype(np.int64) - 1
        known &= index >= 0
        leaves = np.where(known, index + self._first_ranged, 0)
        return np.where(known & (self._locations[leaves, 2] != NONE), leaves, MISS)

    def _unfold(self, leaves: Indexes) -> Chains:
        inlined_into = self._locations[:, 3]
        position = np.flatnonzero(leaves >= 0)
        current = leaves[position]
        depth = np.zeros(len(leaves), np.int64)
        levels: list[tuple[Indexes, Indexes]] = []
        while len(current) and len(levels) < MAX_INLINE_DEPTH:
            levels.append((position, current))
            depth[position] += 1
            outer = inlined_into[current]
            goes_on = outer != NONE
            position, current = position[goes_on], outer[goes_on].astype(np.int64)
        offsets = np.zeros(len(leaves) + 1, np.int64)
        np.cumsum(depth, out=offsets[1:])
        locations = np.empty(int(offsets[-1]), np.int64)
        for level, (position, current) in enumerate(levels):
            locations[offsets[position] + level] = current
        return Chains(offsets, locations)

    @property
    def all_named(self) -> bool:
        """Whether every function has a name; true of all files but those by `dwz -m`."""
        return not len(self.nameless)

    def named(self, locations: Indexes) -> npt.NDArray[np.bool_]:
        """Which of the locations have a function with a name. Raises `MalformedSymCache`.

        Inlined functions have none if their names are in another file (dwz -m).
        """
        if self.all_named:
            return np.ones(len(locations), np.bool_)
        try:
            return ~np.isin(self._locations[locations, 2], self.nameless)
        except IndexError as error:
            raise MalformedSymCache("A location of the SymCache file points outside it.") from error

    @cached_property
    def nameless(self) -> npt.NDArray[np.uint32]:
        """Functions with an empty or missing name, ascending; the first use reads every name."""
        name = self._functions[:, 0]
        text = np.frombuffer(self._map, np.uint8, self._string_bytes, self._at)
        width = 1 if self.version >= 8 else 4  # of a string's length prefix
        inside = name.astype(np.int64) + width <= len(text)
        empty = ~inside
        if inside.any():
            lengths = text[name[inside].astype(np.int64)[:, None] + np.arange(width)]
            empty[inside] = ~lengths.any(axis=1)
        return np.flatnonzero(empty).astype(np.uint32)

    def location(self, index: int) -> Location:
        """The location of an index in `Chains.locations`. Raises `MalformedSymCache`."""
        try:
            file, line, function, _ = self._locations[index].tolist()
            return Location(self._string(int(self._functions[function, 0])), self._path(file), line)
        except IndexError as error:
            raise MalformedSymCache("A location of the SymCache file points outside it.") from error

    def _path(self, index: int) -> str:
        path = self._paths.get(index)
        if path is None:
            if len(self._paths) >= STRINGS_KEPT:
                self._paths.clear()
            path = self._paths[index] = self._read_path(index)
        return path

    def _string(self, offset: int) -> str:
        string = self._strings.get(offset)
        if string is None:
            if len(self._strings) >= STRINGS_KEPT:
                self._strings.clear()
            string = self._strings[offset] = self._read_string(offset)
        return string

    def _read_path(self, index: int) -> str:
        if index == NONE:
            return ""
        parts = [self._string(part)[:_LONGEST_PATH] for part in self._files[index, :3].tolist()]
        return posixpath.normpath(posixpath.join(*parts)) if parts[2] else ""

    def _read_string(self, offset: int) -> str:
        if offset == NONE:
            return ""
        start = self._at + offset
        end = self._at + self._string_bytes
        length = shift = 0
        if self.version >= 8:
            while start < end and shift < 64:
                byte = self._map[start]
                start += 1
                length |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    break
        else:
            length, start = int.from_bytes(self._map[start : start + 4], "little"), start + 4
        if start + length > end:
            raise MalformedSymCache("A string of the SymCache file points outside it.")
        return self._map[start : start + min(length, MAX_NAME_BYTES)].decode("utf-8", "replace")


def open_symcache(
    mapped: mmap.mmap,
    start: int = 0,
    size: int | None = None,
    *,
    nameless: npt.NDArray[np.uint32] | None = None,
) -> AddressTable:
    """Open a SymCache with this reader, or with the library if this reader does not support its version.

    Raises `MalformedSymCache`.
    """
    head = mapped[start : start + 8]
    if head[:4] == MAGIC and int.from_bytes(head[4:], "little") not in SUPPORTED_VERSIONS:
        from symbolizer.tables.library_symcache import LibrarySymCache  # noqa: PLC0415 - 78 MB, rarely needed

        return LibrarySymCache(mapped[start : len(mapped) if size is None else start + size])
    return SymCache(mapped, start, size, nameless=nameless)
