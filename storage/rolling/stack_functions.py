"""Which functions each stack has: a cache of the process that merges, since every fact needs it.

A stack never changes and its id is never given out again, so what was read once stays right.

Stacks lie in the dictionary in blocks of up to 256 neighbours, and to read one is to unpack its block. A
batch of a hundred visits meets a few rare stacks of nearly every block: with room for a quarter of five
million stacks nearly the whole dictionary was unpacked for every batch, 5 to 7 s of CPU. So whole blocks are
kept as long as there is room; when there is none, stacks that no visit brought go first.
"""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from storage.query.stacks.stack_reading import read_stacks
from storage.rolling.rows import MAX_BYTES
from storage.rolling.sorting import Int64, by_pair, counts, ranges
from storage.stack_blocks import SPAN

Int32 = npt.NDArray[np.int32]
_T = TypeVar("_T", bound=np.generic)

CAPACITY = 128_000_000
"""Functions of all stacks held, 4 bytes each: those of some seven million stacks, of 18 functions each."""
_BLOCKS = 1024
"""Read at a time: some 200 MB while they are unpacked."""


class StackFunctions:
    """The distinct functions of stacks, as one array with a slice for each stack."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Beyond `capacity` functions all is forgotten that no call asked for since the last time, or but the one at hand."""
        self._capacity = capacity
        self._clear()

    def _clear(self) -> None:
        self._slot = np.full(1, -1, np.int32)  # by stack id
        self._first = np.zeros(0, np.int64)
        self._length = np.zeros(0, np.uint16)
        self._leaf_at = np.zeros(0, np.uint16)
        self._asked = np.zeros(0, np.bool_)
        self._function = np.zeros(0, np.int32)
        self._stacks = self._functions = 0

    def load(self, connection: Connection, stacks: Int64) -> None:
        """Have these (distinct) stacks ready for the calls below."""
        missing = np.sort(self._missing(stacks))
        blocks = np.unique(missing // SPAN)
        for low in range(0, len(blocks), _BLOCKS):
            some = blocks[low : low + _BLOCKS]
            first, end = np.searchsorted(missing, (some[0] * SPAN, (some[-1] + 1) * SPAN))
            self._read(connection, some, missing[first:end], stacks)
        # A stack that the dictionary has lost has no functions; asking again would not bring it back.
        lost = self._missing(missing)
        self._add(lost, np.zeros(0, np.int32), np.zeros(len(lost), np.int64))
        self._asked[self._slot[stacks]] = True

    def _read(self, connection: Connection, blocks: Int64, missing: Int64, stacks: Int64) -> None:
        """Hold the missing stacks of these blocks, and their neighbours if there is room."""
        near = ranges(blocks * SPAN, np.full(len(blocks), SPAN))
        ids, frames, lengths = read_stacks(connection, self._missing(near), limit=MAX_BYTES)
        if self._functions + len(frames) > self._capacity:
            asked = np.isin(ids, missing)
            ids, frames, lengths = ids[asked], frames[np.repeat(asked, lengths)], lengths[asked]
            if self._functions + len(frames) > self._capacity:
                self._forget(stacks)
        self._add(ids, frames, lengths)

    def _forget(self, stacks: Int64) -> None:
        """Make room: what was asked for since the last time stays if it fills less than half, these stacks anyway."""
        inside = stacks[stacks < len(self._slot)]
        wanted = np.zeros(self._stacks, np.bool_)
        wanted[self._slot[inside][self._slot[inside] >= 0]] = True
        asked = self._asked[: self._stacks] | wanted
        if 2 * int(self._length[: self._stacks][asked].sum(dtype=np.int64)) <= self._capacity:
            kept = np.flatnonzero(asked)
        else:
            kept = np.flatnonzero(wanted)
        ids = np.flatnonzero(self._slot >= 0)
        id_of = np.zeros(self._stacks, np.int64)
        id_of[self._slot[ids]] = ids
        first, length = self.slices(kept)
        leaf_at, function = self._leaf_at[kept], self._function[ranges(first, length)]
        self._clear()
        self._append(id_of[kept], function, length, leaf_at)

    def slots(self, stacks: Int64) -> Int64:
        """Places of loaded stacks, for the calls below."""
        return self._slot[stacks].astype(np.int64)

    def leaf_at(self, slots: Int64) -> Int64:
        """Where in its slice of `functions` each stack's innermost one is; 0 for one without any."""
        return self._leaf_at[slots].astype(np.int64)

    def slices(self, slots: Int64) -> tuple[Int64, Int64]:
        """Where in `functions` each stack's begin, and how many they are: each function once."""
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
        of = np.repeat(np.arange(len(ids)), lengths)
        order, first = by_pair(of, frames.astype(np.int64))
        lead = order[first]
        length = counts(of[lead], len(ids))
        leaf = np.zeros(len(ids), np.int64)
        filled = lengths > 0
        leaf[filled] = frames[np.cumsum(lengths)[filled] - 1]
        before = counts(of[lead][frames[lead] < leaf[of[lead]]], len(ids))
        self._append(ids, frames[lead], length, before)

    def _append(self, ids: Int64, function: Int32, length: Int64, leaf_at: npt.NDArray[np.integer]) -> None:
        """Hold stacks whose functions, each once, stand one stack after the other."""
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


def _appended(held: npt.NDArray[_T], used: int, more: npt.NDArray[Any]) -> npt.NDArray[_T]:
    """The array with `more` behind its first `used` elements; grows by half at least."""
    need = used + len(more)
    if need > len(held):
        grown = np.zeros(max(need, len(held) * 3 // 2), held.dtype)
        grown[:used] = held[:used]
        held = grown
    held[used:need] = more
    return held
