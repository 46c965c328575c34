"""A file or the vdso: a SymCache (lines, inlined calls) over a symbol table, either of which may be absent.

The outermost level of a chain has the name of the symbol that holds the address, as in llvm-symbolizer
and perf. A SymCache names it by the symbol at the function's lowest address, which is wrong if the compiler
split the function. GCC moves cold parts into .text.unlikely, before .text: all of `f` was named `f.cold`,
and if `f`'s cold part is empty, `f` had the name of the next symbol there. CPython's interpreter loop, half of
every profile of it, was `ast2obj_expr.cold`. The symbol also has the name that callers use: malloc, where
the C library's debug data has __libc_malloc.
"""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from storage.ingest.symbolized import FunctionName, Status
from symbolizer.addresses import NOWHERE, ElfVaddrs, FileOffsets, SegmentMap
from symbolizer.demangle import demangle
from symbolizer.errors import MalformedSymCache
from symbolizer.images.image import Image, ImageFrames, Named, Statuses
from symbolizer.tables.address_table import AddressTable, Chains, Indexes, Location
from symbolizer.tables.symbol_table import MISS, SymbolTable, whole_name

# Ids of frames: ~s for symbol s alone; else (s + 1) << 32 | location, s + 1 = 0 if no symbol names it.
_SYMBOL_SHIFT: Final = 32
_LOCATION_MASK: Final = (1 << _SYMBOL_SHIFT) - 1
MAX_TEXT: Final = 1 << 25
"""Characters of the names and files of one lookup; those of 20,000 C++ functions have 6 million."""


class ElfImage:
    """An `Image` by its SymCache and symbol table."""

    def __init__(
        self,
        name: str,
        segments: SegmentMap,
        table: AddressTable | None,
        symbols: SymbolTable,
        reason: str,
        *,
        base: int | None = None,
        repaired: Callable[[], Image] | None = None,
    ) -> None:
        """`name` is the binary's, for its functions; `reason` is why `table` is None.

        `base` is what the addresses of `table` count from; None: the first of `segments`.

        `repaired` returns the replacement if the files that this image reads in place prove damaged.
        """
        self._name = name
        self._segments = segments
        self._base = segments.base if base is None else base
        self._table = table
        self._symbols = symbols
        self._reason = reason
        self._repaired = repaired
        self._instead: Image | None = None
        self._named: dict[int, Named] = {}
        self._functions: dict[int, FunctionName] = {}

    def vaddrs(self, offsets: FileOffsets) -> ElfVaddrs:
        """The addresses of these offsets, for `lookup`."""
        return self._segments.to_vaddrs(offsets)

    def vaddr_of(self, offset: int) -> int | None:
        """The address of one offset; None if no segment covers it."""
        found = self.vaddrs(FileOffsets(np.array([offset], np.uint64))).values[0]
        return None if found == NOWHERE else int(found)

    @property
    def symbols(self) -> SymbolTable:
        """Its functions by address."""
        return self._symbols

    @property
    def names_held(self) -> int:
        """Number of cached frames with names."""
        return len(self._named) if self._instead is None else self._instead.names_held

    def forget_names(self) -> None:
        """Clear the cache of names."""
        self._named.clear()
        self._functions.clear()
        if self._instead is not None:
            self._instead.forget_names()

    @property
    def memory_bytes(self) -> int:
        """Memory of this process that its symbol table takes."""
        return self._symbols.memory_bytes if self._instead is None else self._instead.memory_bytes

    @property
    def status(self) -> Status:
        """FULL with a SymCache, else SYMTAB with symbols of its own, else BINARY_ONLY."""
        if self._instead is not None:
            return self._instead.status
        if self._table is not None:
            return Status.FULL
        return Status.BINARY_ONLY if self._symbols.is_stripped else Status.SYMTAB

    @property
    def reason(self) -> str:
        """Why there is no SymCache; '' if there is one."""
        return self._reason if self._instead is None else self._instead.reason

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of lookup offsets; fastest if they ascend. Raises the errors of `repaired`, and MemoryError.

        MemoryError also if names have more than `MAX_TEXT` characters: functions may all share one name's bytes.
        """
        if self._instead is None:
            try:
                return self._frames(offsets)
            except (MalformedSymCache, IndexError):
                if self._repaired is None:
                    raise
                self._instead = self._repaired()
                self.forget_names()
        return self._instead.frames(offsets)

    def _frames(self, offsets: FileOffsets) -> ImageFrames:
        status, chains = self.lookup(self._segments.to_vaddrs(offsets))
        distinct, entries = np.unique(chains.locations, return_inverse=True)
        names = self._names(distinct.tolist())
        full = np.flatnonzero(status == Status.FULL)
        has_file = np.array([bool(function.file) for function, _ in names] or [True])
        status[full[~has_file[entries[chains.offsets[full]]]]] = Status.SYMTAB
        return ImageFrames(status, chains.offsets, entries, names)

    def _names(self, identifiers: Iterable[int]) -> list[Named]:
        names, characters = [], 0
        for identifier in identifiers:
            function, line = self.name_of(identifier)
            names.append((function, line))
            characters += len(function.name) + len(function.raw_name) + len(function.file)
            if characters > MAX_TEXT:
                raise MemoryError(f"the names exceed {MAX_TEXT} characters")
        return names

    def lookup(self, vaddrs: ElfVaddrs) -> tuple[Statuses, Chains]:
        """The chains behind `frames`, as ids without names. Raises `MalformedSymCache`, IndexError."""
        symbol = self._symbols.find(vaddrs)
        if self._table is None:
            found = symbol != MISS
            status = np.where(found, Status.SYMTAB, Status.BINARY_ONLY).astype(np.uint8)
            return status, Chains(np.append(0, np.cumsum(found)), ~symbol[found])
        whole = self._table.chains(vaddrs.relative_to(self._base))
        chains = self._without_nameless(self._with_symbols(whole, symbol))
        depth = np.diff(chains.offsets)
        status = np.where(depth == np.diff(whole.offsets), Status.FULL, Status.SYMTAB).astype(np.uint8)
        missed = np.flatnonzero(depth == 0)
        status[missed] = np.where(symbol[missed] != MISS, Status.SYMTAB, Status.BINARY_ONLY)
        added = missed[symbol[missed] != MISS]
        return status, _insert(chains, depth, added, ~symbol[added]) if len(added) else chains

    def _with_symbols(self, chains: Chains, symbol: Indexes) -> Chains:
        """The chains with the symbol, if it has a size, in the id of each outermost level."""
        found = np.flatnonzero(chains.offsets[1:] > chains.offsets[:-1])
        named = found[symbol[found] != MISS]
        named = named[self._symbols.is_sized[symbol[named]]]
        chains.locations[chains.offsets[1:][named] - 1] += (symbol[named] + 1) << _SYMBOL_SHIFT
        return chains

    def _without_nameless(self, chains: Chains) -> Chains:
        """The chains without nameless levels; the outermost level has a name if there is a symbol."""
        assert self._table is not None
        if self._table.all_named:
            return chains
        named = self._table.named(chains.locations & _LOCATION_MASK)
        if named.all():
            return chains
        named |= chains.locations > _LOCATION_MASK
        before = np.append(0, np.cumsum(named))
        return Chains(before[chains.offsets], chains.locations[named])

    def name_of(self, identifier: int) -> Named:
        """The function and line of an id of `lookup`. Raises as `lookup`."""
        known = self._named.get(identifier)
        if known is None:
            known = self._named[identifier] = self._read_name(identifier)
        return known

    def location_of(self, identifier: int) -> Location | None:
        """Location of an id of `lookup` in the debug data; None: only a symbol names it. Raises as `lookup`."""
        return (
            None
            if identifier < 0 or self._table is None
            else self._table.location(identifier & _LOCATION_MASK)
        )

    def _read_name(self, identifier: int) -> Named:
        if identifier < 0:
            return self._function(whole_name(self._symbols.symbol(~identifier).name), "", 0), 0
        assert self._table is not None
        location = self._table.location(identifier & _LOCATION_MASK)
        symbol = (identifier >> _SYMBOL_SHIFT) - 1
        if symbol == MISS:
            return self._function(whole_name(location.function), location.file, 0), location.line
        if symbol not in self._functions:
            self._functions[symbol] = self._outermost(symbol, location)
        return self._functions[symbol], location.line

    def _outermost(self, symbol: int, location: Location) -> FunctionName:
        """The function of a symbol; its file is that of its first instruction, else of `location`.

        Lines of one function may lie in several files (#include in a body, generated parsers), so the
        file of an arbitrary line would not be a stable part of its identity.
        """
        part = self._symbols.symbol(symbol).name
        name = whole_name(part)
        hot = symbol if name == part else self._symbols.find_name(name)
        start = location
        if hot != MISS:
            assert self._table is not None
            first = ElfVaddrs(self._symbols.starts[hot : hot + 1]).relative_to(self._base)
            levels = self._table.chains(first).locations
            start = self._table.location(int(levels[-1])) if len(levels) else location
        return self._function(name, start.file or location.file, start.line if start is not location else 0)

    def _function(self, raw: str, file: str, start_line: int) -> FunctionName:
        status = Status.FULL if file else Status.SYMTAB
        return FunctionName(demangle(raw), raw, file, self._name, status, start_line)


def _insert(chains: Chains, depth: Indexes, at: Indexes, ids: Indexes) -> Chains:
    """The chains with one more frame for each address of `at`, which had none."""
    depth = depth.copy()
    depth[at] = 1
    offsets = np.append(0, np.cumsum(depth))
    merged = np.empty(int(offsets[-1]), np.int64)
    is_new = np.zeros(len(merged), np.bool_)
    is_new[offsets[at]] = True
    merged[is_new] = ids
    merged[~is_new] = chains.locations
    return Chains(offsets, merged)
