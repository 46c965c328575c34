"""Which functions each stack has: a cache of the process that rolls, since every fact needs it.

A stack never changes and its id is never given out again, so what was read once stays right.
"""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from storage.query.stacks.stack_reading import read_stacks
from storage.rolling.rows import MAX_BYTES
from storage.rolling.sorting import Int64, by_pair, counts

Int32 = npt.NDArray[np.int32]
_T = TypeVar("_T", bound=np.generic)

CAPACITY = 24_000_000
"""Functions of all stacks held, 4 bytes each: those of about 1.3 million stacks."""


class StackFunctions:
    """The distinct functions of stacks, as one array with a slice for each stack."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        """Beyond `capacity` functions everything is forgotten but what the call at hand needs."""
        self._capacity = capacity
        self._clear()

    def _clear(self) -> None:
        self._slot = np.full(1, -1, np.int32)  # by stack id
        self._first = np.zeros(0, np.int64)
        self._length = np.zeros(0, np.int64)
        self._leaf_at = np.zeros(0, np.int32)
        self._function = np.zeros(0, np.int32)
        self._stacks = self._functions = 0

    def load(self, connection: Connection, stacks: Int64) -> None:
        """Have these (distinct) stacks ready for the calls below."""
        missing = self._missing(stacks)
        if not len(missing):
            return
        if self._functions > self._capacity:
            self._clear()
            missing = stacks
        ids, frames, lengths = read_stacks(connection, missing, limit=MAX_BYTES)
        self._add(ids, frames, lengths)
        # A stack that the dictionary has lost has no functions; asking again would not bring it back.
        lost = self._missing(missing)
        self._add(lost, np.zeros(0, np.int32), np.zeros(len(lost), np.int64))

    def slots(self, stacks: Int64) -> Int64:
        """Places of loaded stacks, for the calls below."""
        return self._slot[stacks].astype(np.int64)

    def leaf_at(self, slots: Int64) -> Int64:
        """Where in its slice of `functions` each stack's innermost one is; 0 for one without any."""
        return self._leaf_at[slots].astype(np.int64)

    def slices(self, slots: Int64) -> tuple[Int64, Int64]:
        """Where in `functions` each stack's begin, and how many they are: each function once."""
        return self._first[slots], self._length[slots]

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
        self._first = _appended(self._first, self._stacks, self._functions + np.cumsum(length) - length)
        self._length = _appended(self._length, self._stacks, length)
        before = counts(of[lead][frames[lead] < leaf[of[lead]]], len(ids))
        self._leaf_at = _appended(self._leaf_at, self._stacks, before)
        self._function = _appended(self._function, self._functions, frames[lead])
        if int(ids.max()) >= len(self._slot):
            grown = np.full(max(int(ids.max()) + 1, 2 * len(self._slot)), -1, np.int32)
            grown[: len(self._slot)] = self._slot
            self._slot = grown
        self._slot[ids] = self._stacks + np.arange(len(ids))
        self._stacks += len(ids)
        self._functions += int(length.sum())


def _appended(held: npt.NDArray[_T], used: int, more: npt.NDArray[Any]) -> npt.NDArray[_T]:
    """The array with `more` behind its first `used` elements; grows by half at least."""
    need = used + len(more)
    if need > len(held):
        grown = np.zeros(max(need, len(held) * 3 // 2), held.dtype)
        grown[:used] = held[:used]
        held = grown
    held[used:need] = more
    return held
