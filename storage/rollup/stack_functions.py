"""The functions of each stack: a cache in the merging process, because every fact needs them.

A stack never changes and its id is never reused, so a cached entry stays valid. The dictionary stores stacks in blocks
of up to 256 neighbours, and reading one stack unpacks its block. A batch of a hundred visits has a few rare stacks of
nearly every block: when the cache held a quarter of five million stacks, nearly the whole dictionary was unpacked for
every batch, 5 to 7 s of CPU. So whole blocks are cached while there is room. When the cache is full, stacks that no
visit contained are evicted first.
"""

from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from storage.arrays import Int64, group_starts, runs
from storage.rollup.cell_rows import MAX_BYTES
from storage.snapshots.stack_reading import read_stacks
from storage.stack_blocks import SPAN

Int32 = npt.NDArray[np.int32]
_T = TypeVar("_T", bound=np.generic)

STACK_BYTES: Final = 512 << 20
"""Memory of the cache: six million stacks of 18 functions each."""
_OF_STACK: Final = 8 + 2 + 2 + 1
_OF_FUNCTION: Final = 4
_BLOCKS = 1024
"""Blocks read at a time: some 200 MB while they are unpacked."""
_PART = 1 << 14
"""Stacks moved at a time: 8 MB of additional memory."""


class StackFunctions:
    """The distinct functions of stacks, as one array with a slice for each stack."""

    def __init__(self, size: int = STACK_BYTES) -> None:
        """`size` is the limit in bytes.

        Above it, all stacks are evicted that were not requested since the last eviction. If that is not enough, all are
        evicted but those of the current request, which is cached whatever its size. Each id up to the largest takes 4
        more bytes.
        """
        self._size = size
        self._slot = np.full(1, -1, np.int32)  # by stack id
        self._first = np.zeros(0, np.int64)
        self._length = np.zeros(0, np.uint16)
        self._leaf_at = np.zeros(0, np.uint16)
        self._asked = np.zeros(0, np.bool_)
        # Reserved at full size: untouched pages take no memory, whereas a growing array exists twice while it is
        # copied.
        self._function = np.empty(size // _OF_FUNCTION, np.int32)
        self._stacks = self._functions = 0

    @property
    def nbytes(self) -> int:
        """Memory of the cached stacks."""
        return _bytes(self._stacks, self._functions)

    def load(self, connection: Connection, stacks: Int64) -> None:
        """Load these distinct stacks for the calls below."""
        missing = np.sort(self._missing(stacks))
        blocks = np.unique(missing // SPAN)
        for low in range(0, len(blocks), _BLOCKS):
            some = blocks[low : low + _BLOCKS]
            first, end = np.searchsorted(missing, (some[0] * SPAN, (some[-1] + 1) * SPAN))
            self._read(connection, some, missing[first:end], stacks)
        # A stack missing from the dictionary gets no functions; another read would not find it either.
        lost = self._missing(missing)
        self._add(lost, np.zeros(0, np.int32), np.zeros(len(lost), np.int64))
        self._asked[self._slot[stacks]] = True

    def _read(self, connection: Connection, blocks: Int64, missing: Int64, stacks: Int64) -> None:
        """Cache the missing stacks of these blocks, and their neighbours if there is room."""
        near = runs(blocks * SPAN, np.full(len(blocks), SPAN))
        ids, frames, lengths = read_stacks(connection, self._missing(near), limit=MAX_BYTES)
        if self.nbytes + _bytes(len(ids), len(frames)) > self._size:
            asked = np.isin(ids, missing)
            ids, frames, lengths = ids[asked], frames[np.repeat(asked, lengths)], lengths[asked]
            if self.nbytes + _bytes(len(ids), len(frames)) > self._size:
                self._forget(stacks)
        self._add(ids, frames, lengths)

    def _forget(self, stacks: Int64) -> None:
        """Evict: stacks requested since the last eviction stay if they fill less than half; `stacks` always stay."""
        inside = self._slot[stacks[stacks < len(self._slot)]]
        kept = np.zeros(self._stacks, np.bool_)
        kept[inside[inside >= 0]] = True
        asked = self._asked[: self._stacks] | kept
        functions = int(self._length[: self._stacks].sum(dtype=np.int64, where=asked))
        if 2 * _bytes(int(np.count_nonzero(asked)), functions) <= self._size:
            kept = asked
        self._close_up(kept)

    def _close_up(self, kept: npt.NDArray[np.bool_]) -> None:
        """Evict all other slots, in place and in parts, because a full cache leaves little memory."""
        place = np.empty(self._stacks + 1, np.int32)  # by old slot; the last entry is for slot -1
        np.cumsum(kept, dtype=np.int32, out=place[:-1])
        place -= 1
        place[:-1][~kept] = -1
        place[-1] = -1
        for low in range(0, len(self._slot), _PART):
            part = slice(low, low + _PART)
            self._slot[part] = place[self._slot[part]]
        stacks = functions = 0
        for low in range(0, self._stacks, _PART):
            # Slices are in slot order, so a moved slice never overwrites one that is still to be moved.
            old = low + np.flatnonzero(kept[low : low + _PART])
            first, length = self.slices(old)
            function = self._function[runs(first, length)]
            new = slice(stacks, stacks + len(old))
            self._first[new] = functions + np.cumsum(length) - length
            self._length[new] = length
            self._leaf_at[new] = self._leaf_at[old]
            self._function[functions : functions + len(function)] = function
            stacks += len(old)
            functions += len(function)
        self._asked[: self._stacks] = False
        self._stacks, self._functions = stacks, functions
        if len(self._function) > (
            room := max(self._size // _OF_FUNCTION, functions)
        ):  # a single request exceeded the size
            held, self._function = self._function[:functions], np.empty(room, np.int32)
            self._function[:functions] = held

    def slots(self, stacks: Int64) -> Int64:
        """Slots of loaded stacks, for the calls below."""
        return self._slot[stacks].astype(np.int64)

    def leaf_at(self, slots: Int64) -> Int64:
        """Index of each stack's leaf function in its slice of `functions`; 0 for a stack without functions."""
        return self._leaf_at[slots].astype(np.int64)

    def slices(self, slots: Int64) -> tuple[Int64, Int64]:
        """Start and length of each stack's slice of `functions`; each function occurs once."""
        return self._first[slots], self._length[slots].astype(np.int64)

    @property
    def functions(self) -> Int32:
        """The functions of all loaded stacks."""
        return self._function

    def _missing(self, stacks: Int64) -> Int64:
        known = np.zeros(len(stacks), np.bool_)
        inside = stacks < len(self._slot)
        known[inside] = self._slot[stacks[inside]] >= 0
        return stacks[~known]

    def _add(self, ids: Int64, frames: Int32, lengths: Int64) -> None:
        if not len(ids):
            return
        bits = int(frames.max(initial=0)).bit_length()
        calls = np.repeat(np.arange(len(ids)) << bits, lengths)
        calls |= frames
        calls.sort()
        once = calls.take(group_starts(calls))
        bounds = np.searchsorted(once, np.arange(len(ids) + 1) << bits)
        leaf_at = np.zeros(len(ids), np.int64)
        filled = np.flatnonzero(lengths)
        innermost = frames[np.cumsum(lengths)[filled] - 1]
        leaf_at[filled] = np.searchsorted(once, (filled << bits) | innermost) - bounds[filled]
        self._append(ids, (once & ((1 << bits) - 1)).astype(np.int32), np.diff(bounds), leaf_at)

    def _append(self, ids: Int64, function: Int32, length: Int64, leaf_at: npt.NDArray[np.integer]) -> None:
        """Cache stacks; `function` holds their distinct functions, one stack after the other."""
        if not len(ids):
            return
        self._first = _appended(self._first, self._stacks, self._functions + np.cumsum(length) - length)
        self._length = _appended(self._length, self._stacks, length)
        self._leaf_at = _appended(self._leaf_at, self._stacks, leaf_at)
        self._asked = _appended(self._asked, self._stacks, np.zeros(len(ids), np.bool_))
        self._function = _appended(self._function, self._functions, function)
        if int(ids.max()) >= len(self._slot):
            grown = np.full(max(int(ids.max()) + 1, len(self._slot) * 3 // 2), -1, np.int32)
            grown[: len(self._slot)] = self._slot
            self._slot = grown
        self._slot[ids] = self._stacks + np.arange(len(ids))
        self._stacks += len(ids)
        self._functions += len(function)


def _bytes(stacks: int, functions: int) -> int:
    return _OF_STACK * stacks + _OF_FUNCTION * functions


def _appended(held: npt.NDArray[_T], used: int, more: npt.NDArray[Any]) -> npt.NDArray[_T]:
    """The array with `more` after its first `used` elements; grows by at least half."""
    need = used + len(more)
    if need > len(held):
        grown = np.zeros(max(need, len(held) * 3 // 2), held.dtype)
        grown[:used] = held[:used]
        held = grown
    held[used:need] = more
    return held
