"""What a process remembers of dictionaries: which key has which id, within bounds.

`Remembered` is for thousands of keys, `RememberedObjects` before it for keys that take longer to
compare than to recognize, `RememberedHashes` for stacks, of which a worker meets
millions: a table of open addressing in numpy, 20 bytes a slot, that is asked and told about thousands
of keys at once.
"""

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from storage.landing.stack_hash import Hashes

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_FIRST_SLOTS = 1 << 10
UNKNOWN = 0
"""No id: dictionaries number their rows from 1."""


class Remembered:
    """Key → id of one dictionary, bounded; the oldest tenth is forgotten when it is full."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._ids: dict[Hashable, int] = {}

    def ids(self, keys: Sequence[Hashable]) -> list[int | None]:
        """The id of every key, None where it is not remembered."""
        return list(map(self._ids.get, keys))

    def add(self, keys: Sequence[Hashable], ids: Iterable[int]) -> None:
        """Remember the keys' ids."""
        self._ids.update(zip(keys, ids, strict=True))
        if len(self._ids) > self._limit:
            for key in list(islice(self._ids, len(self._ids) - self._limit + self._limit // 10)):
                del self._ids[key]

    def clear(self) -> None:
        """Forget everything."""
        self._ids.clear()


class RememberedObjects:
    """Object → id of one dictionary, by which object it is and not by what it says; bounded."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._ids: dict[int, int] = {}
        self._held: list[object] = []  # so that no other object gets the address of one remembered

    def ids(self, objects: Sequence[object]) -> list[int | None]:
        """The id of every object, None where it is not remembered."""
        return list(map(self._ids.get, map(id, objects)))

    def add(self, objects: Sequence[object], ids: Iterable[int]) -> None:
        """Remember the objects' ids; all others are forgotten when they become too many."""
        if len(self._held) + len(objects) > self._limit:
            self.clear()
        self._held.extend(objects)
        self._ids.update(zip(map(id, objects), ids, strict=True))

    def clear(self) -> None:
        """Forget everything."""
        self._ids.clear()
        self._held.clear()


class RememberedHashes:
    """128-bit hash → id of a dictionary, at least the last `limit` that were added or asked for.

    Two tables take turns: when the younger one holds `limit`, the older is forgotten and it takes its place.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = _Table(), _Table()

    def ids(self, hashes: Hashes) -> Ids:
        """The id of every hash, UNKNOWN where it is not remembered; the hashes are distinct."""
        found = self._young.find(hashes)
        missing = np.flatnonzero(found == UNKNOWN)
        older = self._old.find(hashes[missing])
        found[missing] = older
        again = missing[older != UNKNOWN]
        self.add(hashes[again], found[again])
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        """Remember the ids of distinct hashes that are not in the younger table."""
        for start in range(0, len(ids), self._limit):
            part = slice(start, start + self._limit)
            if self._young.used + len(ids[part]) > self._limit:
                self._young, self._old = _Table(), self._young
            self._young.add(hashes[part], ids[part])


class _Table:
    """Open addressing, at most half full; a slot whose id is UNKNOWN is free."""

    def __init__(self) -> None:
        self.used = 0
        self._clear(_FIRST_SLOTS)

    def find(self, hashes: Hashes) -> Ids:
        found = np.full(len(hashes), UNKNOWN, np.int32)
        asked, slots = np.arange(len(hashes)), self._home(hashes)
        while len(asked):
            ids = self._ids[slots]
            there = ids != UNKNOWN
            same = (self._keys[slots] == hashes[asked]).all(axis=1) & there
            found[asked[same]] = ids[same]
            on = there & ~same
            asked, slots = asked[on], self._next(slots[on])
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        self.used += len(ids)
        if 2 * self.used > len(self._ids):
            taken = self._ids != UNKNOWN
            keys, known = self._keys[taken], self._ids[taken]
            self._clear(1 << (2 * self.used).bit_length())
            self._fill(keys, known)
        self._fill(hashes, ids)

    def _clear(self, slots: int) -> None:
        self._mask = slots - 1
        self._keys = np.zeros((slots, 2), np.uint64)
        self._ids = np.zeros(slots, np.int32)

    def _fill(self, hashes: Hashes, ids: Ids) -> None:
        todo, slots = np.arange(len(ids)), self._home(hashes)
        while len(todo):
            free = self._ids[slots] == UNKNOWN
            self._ids[slots[free]] = ids[todo[free]]  # of several for one slot the last stays
            won = free & (self._ids[slots] == ids[todo])
            self._keys[slots[won]] = hashes[todo[won]]
            todo, slots = todo[~won], self._next(slots[~won])

    def _home(self, hashes: Hashes) -> Int64s:
        return (hashes[:, 0] & np.uint64(self._mask)).astype(np.int64)

    def _next(self, slots: Int64s) -> Int64s:
        return (slots + 1) & self._mask
