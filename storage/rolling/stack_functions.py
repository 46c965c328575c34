"""Which functions each stack has: a cache of the process that rolls, since every fact needs it.

A stack never changes and its id is never given out again, so what was read once stays right.
"""

from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, LargeBinary, Select, func, literal, select

from storage.query.reading import among
from storage.rolling import rows
from storage.rolling.sorting import Int64, by_pair, counts
from storage.schema import stack

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
        self._leaf = np.zeros(0, np.int64)
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
        ids, frames, lengths = _read(connection, missing)
        self._add(ids, frames, lengths)
        # A stack that the dictionary has lost has no functions; asking again would not bring it back.
        lost = self._missing(missing)
        self._add(lost, np.zeros(0, np.int32), np.zeros(len(lost), np.int64))

    def slots(self, stacks: Int64) -> Int64:
        """Places of loaded stacks, for the calls below."""
        return self._slot[stacks].astype(np.int64)

    def leaf(self, slots: Int64) -> Int64:
        """The innermost function of each stack; 0 for one without any."""
        leaf: Int64 = self._leaf[slots]
        return leaf

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
        self._leaf = _appended(self._leaf, self._stacks, leaf)
        self._function = _appended(self._function, self._functions, frames[lead])
        if int(ids.max()) >= len(self._slot):
            grown = np.full(max(int(ids.max()) + 1, 2 * len(self._slot)), -1, np.int32)
            grown[: len(self._slot)] = self._slot
            self._slot = grown
        self._slot[ids] = self._stacks + np.arange(len(ids))
        self._stacks += len(ids)
        self._functions += int(length.sum())


_BLOCK = 4096


def _read(connection: Connection, stacks: Int64) -> tuple[Int64, Int32, Int64]:
    """(ids, functions one stack after the other, how many of each) of those stacks that there are.

    Thousands of them make one row, as COPY costs the client more for a row than the server for joining
    bytes together: measured, 2 µs a stack instead of 6.
    """
    c = stack.c
    block = (
        select(
            func.string_agg(func.int4send(c.stack_id), literal(b"", LargeBinary), type_=LargeBinary),
            func.string_agg(
                func.int4send(func.cardinality(c.frames)), literal(b"", LargeBinary), type_=LargeBinary
            ),
            func.string_agg(func.array_send(c.frames), literal(b"", LargeBinary), type_=LargeBinary),
        )
        .where(among(c.stack_id, stacks.tolist()))
        .group_by(c.stack_id // _BLOCK)
    )
    _, blobs = rows.read(connection, cast(Select[Any], block))
    ids, lengths = (np.frombuffer(b"".join(parts), ">i4").astype(np.int64) for parts in blobs[:2])
    # An array is sent as 20 bytes about it, 12 if it is empty, then 4 bytes of length and 4 of value each.
    values = np.frombuffer(b"".join(blobs[2]), ">i4")
    head = np.where(lengths > 0, 5, 3)
    size = head + 2 * lengths
    first = np.cumsum(size) - size + head + 1
    frames = values[
        np.repeat(first - 2 * (np.cumsum(lengths) - lengths), lengths) + 2 * np.arange(int(lengths.sum()))
    ]
    return ids, frames.astype(np.int32), lengths


def _appended(held: npt.NDArray[_T], used: int, more: npt.NDArray[Any]) -> npt.NDArray[_T]:
    """The array with `more` behind its first `used` elements; grows by half at least."""
    need = used + len(more)
    if need > len(held):
        grown = np.zeros(max(need, len(held) * 3 // 2), held.dtype)
        grown[:used] = held[:used]
        held = grown
    held[used:need] = more
    return held
