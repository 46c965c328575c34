"""What a process remembers of dictionaries: which key has which id, within bounds.

`IdCache` is for keys of any kind, `ObjectIdCache` before it for keys that take longer to
compare than to recognize, `HashIdCache` for stacks, of which a worker meets millions.

`IdCache` and `HashIdCache` keep no key: the labels of a fleet's containers are a kilobyte each, and
there is no end of them. `ObjectIdCache` keeps its objects alive, and so has a bound of their size. All
of them forget by turns: when the younger of two generations is full the older is forgotten, and what is
asked for again is young again. So 43 to 86 bytes for each of `limit` keys are the most, objects apart.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from storage.ingest.hash_table import UNKNOWN, HashTable, Ids, entries_in
from storage.ingest.stack_hash import Hashes

_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Odd: what is multiplied by it modulo 2⁶⁴ stays distinct."""
_HALF = np.uint64(32)
_LEAST_BYTES = 64 << 10


class IdCache:
    """Key → id of one dictionary, at least the last `limit` that were added or asked for.

    Keys are strings, numbers, None, and tuples of those; they are held as 128-bit hashes.
    """

    def __init__(self, limit: int) -> None:
        self._ids = HashIdCache(limit)

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


class ObjectIdCache:
    """Object → id of one dictionary, by which object it is and not by what it says.

    It keeps alive those that were added or asked for in the last `turns` to twice as many questions, of
    them at least the last `limit` and at most twice as many. Most objects are met once: a name out of a
    perf map is another object in each capture, and a small fleet's memory shall not fill with them. Fewer
    than the last `limit` are kept where those have a `size` of more than `size_limit` together, and of
    all that is kept it is never more than twice that.
    """

    def __init__(self, limit: int, turns: int, *, size: Callable[[Any], int], size_limit: int) -> None:
        """`size` of one object, ≥ 0, in any unit."""
        self._limit = limit
        self._turns = turns
        self._size, self._size_limit = size, size_limit
        self._questions = 0
        self._young, self._old = _Held(), _Held()

    def __len__(self) -> int:
        return len(self._young.held) + len(self._old.held)

    @property
    def nbytes(self) -> int:
        """Memory of the tables, without the objects."""
        return self._young.table.nbytes + self._old.table.nbytes

    def ids(self, objects: Sequence[object]) -> Ids:
        """The id of every object, UNKNOWN where it is not remembered; objects may repeat."""
        self._questions += 1
        if self._questions > self._turns:
            self._turn()
        keys = _addresses(objects)
        found = self._young.table.find(keys)
        missing = np.flatnonzero(found == UNKNOWN)
        older = self._old.table.find(keys[missing])
        found[missing] = older
        again = missing[older != UNKNOWN]
        if len(again):
            again = again[np.unique(keys[again, 0], return_index=True)[1]]
            self.add([objects[index] for index in again.tolist()], found[again])
        return found

    def add(self, objects: Sequence[object], ids: Ids) -> None:
        """Remember the ids of distinct objects that are not in the younger generation."""
        sizes = np.fromiter(map(self._size, objects), np.int64, len(objects))
        # The last of them, as many as a generation has room for.
        fit = min(self._limit, int(np.searchsorted(np.cumsum(sizes[::-1]), self._size_limit, "right")))
        first = len(objects) - fit
        objects, ids, size = objects[first:], ids[first:], int(sizes[first:].sum())
        full = len(self._young.held) + fit > self._limit or self._young.size + size > self._size_limit
        if full:
            self._turn()
        self._young.held.extend(objects)
        self._young.size += size
        self._young.table.add(_addresses(objects), ids)

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = _Held(), _Held()

    def _turn(self) -> None:
        self._questions = 0
        self._young, self._old = _Held(), self._young


class _Held:
    """One generation of objects."""

    def __init__(self) -> None:
        self.table = HashTable()
        self.held: list[object] = []
        """So that no other object gets the address of one remembered."""
        self.size = 0


class HashIdCache:
    """128-bit hash → id of a dictionary, at least the last `limit` that were added or asked for.

    Two tables take turns: when the younger one holds `limit`, the older is forgotten and it takes its place.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young, self._old = HashTable(), HashTable()

    @classmethod
    def within(cls, size: int) -> "HashIdCache":
        """With the largest limit whose tables take no more than `size` bytes, at least 64 KiB."""
        return cls(entries_in(max(size, _LEAST_BYTES) // 2))

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old = HashTable(), HashTable()

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
                self._young, self._old = HashTable(), self._young
            self._young.add(hashes[part], ids[part])


def _hashes(keys: Sequence[Hashable]) -> Hashes:
    """The keys as hashes; `repr` tells apart whatever is not equal, lone surrogates too."""
    digests = b"".join(blake2b(repr(key).encode(), digest_size=16).digest() for key in keys)
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


def _addresses(objects: Sequence[object]) -> Hashes:
    """Which objects they are, as hashes: one to one, since both steps can be undone."""
    spread = np.fromiter(map(id, objects), np.uint64, len(objects)) * _SPREAD
    spread ^= spread >> _HALF
    return np.column_stack((spread, np.zeros(len(objects), np.uint64)))
