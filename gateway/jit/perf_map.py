"""One perf map while its process appends to it: only the new part is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.jit.map_entries import MAX_NAME, Entries, name_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

# Limits of one capture for all maps together: 10 MiB of memory at most.
MAX_BYTES: Final = 16 << 20
MAX_ENTRIES: Final = 200_000
# Work of one capture on them, in steps of `Entries`: some 0.8 s of CPU at most. Reading and sorting 200,000 lines once
# takes 400,000.
MAX_STEPS: Final = 800_000
# A name look-up: the line is found, and read from the file again.
_STEPS_A_NAME: Final = 3
# Only the newest bytes of a map are read: V8 writes optimized functions last.
MAX_MAP_BYTES: Final = 8 << 20
_PIECE_BYTES: Final = 256 << 10
# Bytes before the current position, which detect that the file was rewritten.
_MARK_BYTES: Final = 64
# With more lines, addresses are not searched individually: that would hold as many pairs in memory.
_MANY: Final = 10_000
_LINE_BYTES: Final = MAX_NAME + 64


@dataclass(slots=True)
class Allowance:
    """The remaining limits of a capture, for all its maps."""

    bytes: int = MAX_BYTES
    entries: int = MAX_ENTRIES
    steps: int = MAX_STEPS


class PerfMap:
    """The map behind a descriptor, which it closes. `truncated`: part of it was skipped."""

    __slots__ = ("_allowance", "_descriptor", "_entries", "_mark", "truncated")

    def __init__(self, descriptor: int, allowance: Allowance) -> None:
        """Nothing is read before `refresh`."""
        self._descriptor = descriptor
        self._allowance = allowance
        self._mark = b""
        self.truncated = False
        self._entries = self._begin()

    def refresh(self, requested: AbstractSet[int] = frozenset()) -> set[int]:
        """Read what was appended; returns the requested addresses whose name may have changed.

        A rewritten file, as by JDK's `Compiler.perfmap`, is read from its beginning.
        """
        known = len(self._entries)
        try:
            size = os.fstat(self._descriptor).st_size
            if size == self._entries.position:
                return set()
            anew = not self._continues(size)
            if anew:
                self._allowance.entries += known
                self._entries = self._begin()
            self._read_to(size)
        except OSError:
            return set()  # the file system is gone; what was read stays valid
        if anew or len(self._entries) - known > _MANY:
            return set(requested)
        return _covered(requested, self._entries.ranges(known)) if requested else set()

    def name(self, address: int) -> str:
        """The name of the code at an address; empty: not in the map, or the limit of look-ups is reached."""
        if self._allowance.steps < _STEPS_A_NAME:
            self.truncated = True
            return ""
        self._allowance.steps -= _STEPS_A_NAME
        line = self._entries.find(address)
        if line is None:
            return ""
        try:
            return name_in(os.pread(self._descriptor, _LINE_BYTES, line), address)
        except OSError:
            return ""

    def close(self) -> None:
        """Close the descriptor; may be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _begin(self) -> Entries:
        try:
            size = os.fstat(self._descriptor).st_size
        except OSError:
            size = 0
        self._mark = b""
        skipped = max(0, size - MAX_MAP_BYTES)
        self.truncated |= skipped > 0
        return Entries(limit=self._allowance.entries, steps=self._allowance.steps, position=skipped)

    def _continues(self, size: int) -> bool:
        """Whether the bytes read so far are unchanged and more follow."""
        position = self._entries.position
        if size < position:
            return False
        return os.pread(self._descriptor, len(self._mark), position - len(self._mark)) == self._mark

    def _read_to(self, size: int) -> None:
        entries = self._entries
        had = len(entries)
        entries.limit = had + self._allowance.entries
        entries.steps = self._allowance.steps
        while entries.position < size:
            wanted = min(_PIECE_BYTES, size - entries.position, self._allowance.bytes)
            if entries.full or wanted <= 0:
                self.truncated = True
                break
            piece = os.pread(self._descriptor, wanted, entries.position)
            if not piece:
                break
            self._allowance.bytes -= len(piece)
            self._mark = (self._mark + piece)[-_MARK_BYTES:]
            entries.feed(piece)
        entries.index()
        self.truncated |= entries.full
        self._allowance.steps = entries.steps
        self._allowance.entries -= len(entries) - had


def _covered(addresses: AbstractSet[int], ranges: Iterator[tuple[int, int]]) -> set[int]:
    """The addresses that lie in any of the ranges (start, end)."""
    found = set()
    ordered = sorted(ranges)
    place = reach = 0
    for address in sorted(addresses):
        while place < len(ordered) and ordered[place][0] <= address:
            reach = max(reach, ordered[place][1])
            place += 1
        if address < reach:
            found.add(address)
    return found
