"""What a process remembers of dictionaries: which key has which id, within bounds.

`Remembered` is for thousands of keys, `RememberedObjects` before it for keys that take longer to
compare than to recognize, `RememberedHashes` for stacks, of which a worker meets millions: a table of
open addressing in numpy, 20 bytes a slot, that is asked and told about thousands of keys at once.

None of them keeps a key: the labels of a fleet's containers are a kilobyte each, and there is no end of
them. All of them forget by turns: when the younger of two generations is full the older is forgotten,
and what is asked for again is young again. So 40 to 160 bytes for each of `limit` keys are the most.
"""

from collections.abc import Hashable, Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from storage.landing.stack_hash import Hashes

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

_FIRST_SLOTS = 1 << 10
UNKNOWN = 0
"""No id: dictionaries number their rows from 1."""


class Remembered:
    """Key → id of one dictionary, at least the last `limit` that were added or asked for.

    Keys are strings, numbers, None, and tuples of those; they are held as 128-bit hashes.
    """

    def __init__(self, limit: int) -> None:
        self._ids = RememberedHashes(limit)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._ids.nbytes

    def ids(self, keys: Sequence[Hashable]) -> list[int | None]:
        """The id of every key, None where it is not remembered."""
        number: dict[Hashable, int] = {}
        places = [number.setdefault(key, len(number)) for key in keys]
        found = self._ids.ids(_hashes(list(number)))[places].tolist()
        return [None if id_ == UNKNOWN else id_ for id_ in found]

    def add(self, keys: Sequence[Hashable], ids: Iterable[int]) -> None:
        """Remember the ids of distinct keys that `ids` did not know."""
        self._ids.add(_hashes(keys), np.fromiter(ids, np.int32, len(keys)))

    def clear(self) -> None:
        """Forget everything."""
        self._ids.clear()


class RememberedObjects:
    """Object → id of one dictionary, by which object it is and not by what it says.

    At least the last `limit` that were added or asked for, and at most twice as many, which it keeps
    alive. Most objects are met once: a name out of a perf map is another object in each capture.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}
        # So that no other object gets the address of one remembered.
        self._held: list[object] = []
        self._held_old: list[object] = []

    def __len__(self) -> int:
        return len(self._held) + len(self._held_old)

    def ids(self, objects: Sequence[object]) -> list[int | None]:
        """The id of every object, None where it is not remembered."""
        found = list(map(self._young.get, map(id, objects)))
        if None in found and self._old:
            again = {
                id(objects[index]): (objects[index], self._old[id(objects[index])])
                for index, id_ in enumerate(found)
                if id_ is None and id(objects[index]) in self._old
            }
            self.add([each for each, _ in again.values()], [id_ for _, id_ in again.values()])
            found = [
                again[id(each)][1] if id_ is None and id(each) in again else id_
                for each, id_ in zip(objects, found, strict=True)
            ]
        return found

    def add(self, objects: Sequence[object], ids: Iterable[int]) -> None:
        """Remember the ids of distinct objects that are not in the younger generation."""
        if len(self._young) + len(objects) > self._limit:
            self._young, self._old = {}, self._young
            self._held, self._held_old = [], self._held
        self._held.extend(objects[-self._limit :])
        self._young.update(list(zip(map(id, objects), ids, strict=True))[-self._limit :])

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = {}, {}
        self._held, self._held_old = [], []


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

    def __len__(self) -> int:
        return self._young.used + self._old.used

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._young.nbytes + self._old.nbytes

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

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._ids.nbytes

    def find(self, hashes: Hashes) -> Ids:
        found = np.full(len(hashes), UNKNOWN, np.int32)
        asked, slots = np.arange(len(hashes)), self._home(hashes)
        while len(asked):
            ids = self._ids[slots]
            there = ids != UNKNOWN
            keys, wanted = self._keys[slots], hashes[asked]
            same = there & (keys[:, 0] == wanted[:, 0]) & (keys[:, 1] == wanted[:, 1])
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


def _hashes(keys: Sequence[Hashable]) -> Hashes:
    """The keys as hashes; `repr` tells apart whatever is not equal, lone surrogates too."""
    digests = b"".join(blake2b(repr(key).encode(), digest_size=16).digest() for key in keys)
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)
