"""The blobs that were read of one JVM, and what was derived from them.

Code moves and is unloaded while the program runs. So a blob is read again at its first use in each drain; if another one
is there, it is dropped with everything derived from it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from gateway.runtimes.hotspot.code_cache import CodeCache
from gateway.runtimes.hotspot.debug_info import read_debug_info
from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.process_memory import Unreadable

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.code_cache import Blob
    from gateway.runtimes.hotspot.debug_info import Charge, DebugInfo
    from gateway.runtimes.hotspot.frames import JavaFrame
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.vm_structs import Read

_MAX_BLOBS: Final = 1 << 15
_MAX_DERIVED: Final = 1 << 17
_MAX_DEBUG_INFO: Final = 256


class CachedBlob:
    """A blob, the fields by which it is recognized, and what was derived from it: rules and frames by address."""

    __slots__ = ("blob", "debug", "frames", "identity", "rules")

    def __init__(self, blob: Blob, identity: tuple[int, ...]) -> None:
        self.blob = blob
        self.identity = identity
        self.debug: DebugInfo | None = None
        self.rules: set[int] = set()
        self.frames: dict[int, tuple[JavaFrame, ...]] = {}


class BlobTable:
    """Blobs by address."""

    def __init__(self, layout: Layout, read: Read, charge: Charge) -> None:
        """Raises Damaged and what `read` raises."""
        self._layout = layout
        self._read = read
        self._charge = charge
        self._cache = CodeCache(layout, read)
        self._blobs: dict[int, CachedBlob] = {}
        self._starts: list[int] = []
        self._sorted = True
        self._with_debug: list[CachedBlob] = []
        self._checked: set[int] = set()
        self._derived = 0
        self.excluded: int | None = None
        """The form of this JVM's streams; None until compiled code shows it."""
        self.dropped: list[int] = []
        """Addresses whose rules are no longer valid; the caller empties it."""

    def begin_drain(self) -> None:
        """Every blob is to be checked again at its next use."""
        self._checked.clear()
        if self._derived > _MAX_DERIVED:
            self._drop_all()
        try:
            self._cache.refresh()
        except (Damaged, Unreadable):
            return  # the heaps as they were

    def contains(self, address: int) -> bool:
        """Whether an address lies in a code heap."""
        return self._cache.contains(address)

    def has_changed(self, address: int) -> bool:
        """Whether the blob known at an address is no longer there; it is dropped then."""
        cached = self._cached(address)
        return cached is not None and self._has_changed(cached)

    def at(self, address: int) -> CachedBlob | None:
        """The blob at an address, checked in this drain; None: there is none. Raises Damaged and Unreadable."""
        cached = self._cached(address)
        if cached is not None and not self._has_changed(cached):
            return cached
        blob = self._cache.find(address)
        if blob is None or not blob.code_begin <= address < blob.end:
            return None
        if len(self._blobs) >= _MAX_BLOBS:
            self._drop_all()
        cached = CachedBlob(blob, self._identity(blob.header))
        self._blobs[blob.start] = cached
        self._checked.add(blob.start)
        self._sorted = False
        return cached

    def find(self, address: int) -> CachedBlob | None:
        """As `at`; None also if it cannot be read."""
        if not self._cache.contains(address):
            return None
        try:
            return self.at(address)
        except (Damaged, Unreadable):
            return None

    def add_rule(self, cached: CachedBlob, address: int) -> None:
        """Remember that a rule was derived from a blob."""
        self._derived += 1
        cached.rules.add(address)

    def add_frames(self, cached: CachedBlob, key: int, frames: tuple[JavaFrame, ...]) -> None:
        """Remember frames of a blob."""
        self._derived += len(frames)
        cached.frames[key] = frames

    def debug_info(self, cached: CachedBlob) -> DebugInfo:
        """The debug information of an nmethod. Raises Damaged and Unreadable."""
        debug = cached.debug
        if debug is None:
            debug = cached.debug = read_debug_info(cached.blob, self._layout, self._read, self._charge)
            if len(self._with_debug) >= _MAX_DEBUG_INFO:
                for other in self._with_debug:
                    other.debug = None
                self._with_debug.clear()
                cached.debug = debug
            self._with_debug.append(cached)
            if self.excluded is None:
                self.excluded = debug.find_excluded(self._read)
        return debug

    def _cached(self, address: int) -> CachedBlob | None:
        if not self._sorted:
            self._starts = sorted(self._blobs)
            self._sorted = True
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        cached = self._blobs[self._starts[index]]
        return cached if address < cached.blob.end else None

    def _has_changed(self, cached: CachedBlob) -> bool:
        """Check a blob once per drain, and drop it if another one is there."""
        start = cached.blob.start
        if start in self._checked:
            return False
        self._checked.add(start)
        try:
            if self._identity(self._cache.header(cached.blob)) == cached.identity:
                return False
        except (Damaged, Unreadable):
            pass  # not what it was
        self._drop(cached)
        return True

    def _drop(self, cached: CachedBlob) -> None:
        del self._blobs[cached.blob.start]
        self._sorted = False
        self._checked.discard(cached.blob.start)
        self.dropped.extend(cached.rules)

    def _drop_all(self) -> None:
        for cached in tuple(self._blobs.values()):
            self._drop(cached)
        self._with_debug.clear()
        self._derived = 0

    def _identity(self, header: bytes) -> tuple[int, ...]:
        blob, nmethod = self._layout.blob, self._layout.nmethod
        fields = (blob.name, blob.size, blob.frame_size, blob.code_begin, nmethod.method, nmethod.compile_id,
                  nmethod.scopes_pcs_offset, nmethod.immutable_data)  # fmt: skip
        return tuple([field.of(header) for field in fields if field and field.size])
