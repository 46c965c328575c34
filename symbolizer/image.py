"""One image and all that is known of it: offsets in, named frames out.

Two layers: a SymCache (functions, lines, inlined calls from debug data), and under it a symbol table.
An address that neither knows has no frames here; the resolver renders it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from storage.landing.resolved import FunctionName, Status
from symbolizer.addresses import CacheAddresses, ElfVaddrs, FileOffsets, SegmentMap
from symbolizer.cold import SplitFunctions, whole_name
from symbolizer.demangle import demangle
from symbolizer.errors import MalformedSymCache
from symbolizer.kallsyms import OffsetTable
from symbolizer.symcache import AddressTable, Chains, Indexes
from symbolizer.symtab import SymbolTable

Statuses = npt.NDArray[np.uint8]


Named = tuple[FunctionName, int]
"""A function, and the line executing in it; 0: not known."""


@dataclass(frozen=True, slots=True)
class ImageFrames:
    """Frames of n offsets, innermost first: those of offset i are `entries[offsets[i]:offsets[i + 1]]`.

    `status[i]` is below SYMTAB exactly where an offset has no frame.
    """

    status: Statuses
    offsets: Indexes
    entries: Indexes
    """Indexes into `names`."""
    names: Sequence[Named]


class Image(Protocol):
    """What the resolver asks of an image of any kind."""

    @property
    def status(self) -> Status:
        """The best that a frame of this image can be."""

    @property
    def reason(self) -> str:
        """Why that is not FULL, as a sentence; '' if it is."""

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of looked-up offsets; fastest when they ascend. Never raises."""


class ElfImage:
    """A file or the vdso: SymCache over symbol table, either of which may be absent."""

    def __init__(
        self, name: str, segments: SegmentMap, table: AddressTable | None, symbols: SymbolTable, reason: str
    ) -> None:
        """`name` is the binary's, for its functions; `reason` says why `table` is None."""
        self._name = name
        self._segments = segments
        self._table = table
        self._symbols = symbols
        self._reason = reason
        self._known: dict[int, Named] = {}
        self._split = None if table is None else SplitFunctions(name, table, segments.base, symbols)

    @property
    def status(self) -> Status:
        """FULL with a SymCache, else SYMTAB with symbols of its own, else BINARY_ONLY."""
        if self._table is not None:
            return Status.FULL
        return Status.BINARY_ONLY if self._symbols.is_stripped else Status.SYMTAB

    @property
    def reason(self) -> str:
        """Why there is no SymCache; '' if there is one."""
        return self._reason

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of looked-up file offsets; fastest when they ascend. Never raises."""
        try:
            return self._frames(offsets)
        except MalformedSymCache as error:  # our own file, damaged: go on without it
            self._table, self._split, self._reason = None, None, str(error)
            self._known.clear()
            return self._frames(offsets)

    def _frames(self, offsets: FileOffsets) -> ImageFrames:
        status, chains = self.lookup(offsets)
        distinct, entries = np.unique(chains.locations, return_inverse=True)
        names = [self._name_of(index) for index in distinct.tolist()]
        lined = np.array([name.status == Status.FULL for name, _ in names] or [True])
        firsts = chains.offsets[:-1][status == Status.FULL]
        status[status == Status.FULL] = np.where(lined[entries[firsts]], Status.FULL, Status.SYMTAB)
        return ImageFrames(status, chains.offsets, entries, names)

    def lookup(self, offsets: FileOffsets) -> tuple[Statuses, Chains]:
        """The chains behind `frames`, without names.

        Their ids: of the SymCache's locations, of `SplitFunctions`, or ~i for symbol i.

        Raises `MalformedSymCache`.
        """
        vaddrs = self._segments.to_vaddrs(offsets)
        chains = self._chains(vaddrs)
        depth = np.diff(chains.offsets)
        misses = np.flatnonzero(depth == 0)
        status = np.full(len(depth), Status.FULL, np.uint8)
        status[misses] = Status.BINARY_ONLY
        if len(misses):
            symbol = self._symbols.find(ElfVaddrs(vaddrs.values[misses]))
            named = misses[symbol >= 0]
            status[named] = Status.SYMTAB
            chains = _insert(chains, depth, named, ~symbol[symbol >= 0])
        return status, chains

    def _chains(self, vaddrs: ElfVaddrs) -> Chains:
        """Chains by the SymCache, without the levels that have no name."""
        if self._table is None:
            return Chains(np.zeros(len(vaddrs.values) + 1, np.int64), np.zeros(0, np.int64))
        chains = self._table.chains(vaddrs.relative_to(self._segments.base))
        named = self._table.named(chains.locations)
        if not named.all():
            before = np.append(0, np.cumsum(named))
            chains = Chains(before[chains.offsets], chains.locations[named])
        return chains if self._split is None else self._split.rename(chains, vaddrs)

    def _name_of(self, index: int) -> Named:
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._named(index)
        return known

    def _named(self, index: int) -> Named:
        if index < 0:
            return _plain(self._symbols.symbol(~index).name, self._name), 0
        if self._split is not None and index >= SplitFunctions.FIRST_ID:
            return self._split.name(index)
        return self._located(index)

    def _located(self, index: int) -> Named:
        assert self._table is not None
        location = self._table.location(index)
        raw = self._public_name(location.function, location.entry)
        name = FunctionName(
            name=demangle(raw),
            raw_name=raw,
            file=location.definition_file,
            binary_name=self._name,
            status=Status.FULL if location.definition_file else Status.SYMTAB,
            start_line=location.definition_line,
        )
        return name, location.line

    def _public_name(self, raw: str, entry: int | None) -> str:
        """The name callers use of a function whose debug data has a reserved one.

        The C library defines `__libc_malloc` or `__GI_xdr_free` and exports them as malloc and xdr_free,
        which is what its stripped build and perf say.
        """
        if entry is None or not raw.startswith("_") or raw.startswith(("_Z", "_R")):
            return raw
        address = CacheAddresses(np.array([entry], np.uint64)).counted_from(self._segments.base)
        index = int(self._symbols.find(address)[0])
        if index < 0 or self._symbols.starts[index] != address.values[0]:
            return raw
        return self._symbols.symbol(index).name


class KallsymsImage:
    """The kernel or a module by its kallsyms; offsets are those of `Mapping.Kind`."""

    def __init__(self, name: str, table: OffsetTable) -> None:
        self._name = name
        self._table = table

    @property
    def status(self) -> Status:
        """Names without lines."""
        return Status.SYMTAB

    @property
    def reason(self) -> str:
        """What is missing for more."""
        return "The kernel's own symbols name its functions; lines need its debug data."

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of looked-up offsets, one each where there is a name."""
        index = self._table.find(offsets)
        named = index >= 0
        status = np.where(named, Status.SYMTAB, Status.BINARY_ONLY).astype(np.uint8)
        distinct, entries = np.unique(index[named], return_inverse=True)
        names = [
            (_plain(self._table.names[i].decode("utf-8", "replace"), self._name), 0)
            for i in distinct.tolist()
        ]
        return ImageFrames(status, np.append(0, np.cumsum(named)), entries, names)


class UnknownImage:
    """An image nothing could be found of."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def status(self) -> Status:
        """Its frames have no names."""
        return Status.BINARY_ONLY

    @property
    def reason(self) -> str:
        """Why nothing was found."""
        return self._reason

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """No frames for any offset."""
        count = len(offsets.values)
        nothing = np.zeros(0, np.int64)
        return ImageFrames(
            np.full(count, Status.BINARY_ONLY, np.uint8), np.zeros(count + 1, np.int64), nothing, ()
        )


def _plain(symbol: str, binary: str) -> FunctionName:
    raw = whole_name(symbol)
    return FunctionName(name=demangle(raw), raw_name=raw, file="", binary_name=binary, status=Status.SYMTAB)


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
