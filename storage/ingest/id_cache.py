"""Bounded caches of dictionary ids by key.

`IdCache` is for keys of any kind. `ObjectIdCache`, in front of it, is for keys that are slower to compare than to
identify by address. `HashIdCache` is for stacks, of which a worker sees millions. `IdCache` and `HashIdCache` store no
keys: the labels of a fleet's containers are a kilobyte each and unlimited in number. `ObjectIdCache` keeps its objects
alive, so their size is bounded too. All evict by generation: when the younger of two generations is full, the older is
dropped; a hit moves an entry to the younger. So each of `limit` keys takes at most 43 to 86 bytes, without objects.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from storage.ingest.hash_table import UNKNOWN, HashTable, Ids, entries_in
from storage.ingest.stack_hash import Hashes

_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Odd, so multiplication modulo 2⁶⁴ keeps numbers distinct."""
_HALF = np.uint64(32)
_LEAST_BYTES = 64 << 10


class IdCache:
    """Key → id of one dictionary, for at least the last `limit` keys that were added or requested.

    Keys are strings, numbers, None, and tuples of those; they are stored as 128-bit hashes.
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
        """The id of every key, None if it is not cached."""
        number: dict[Hashable, int] = {}
        places = [number.setdefault(key, len(number)) for key in keys]
        found = self._ids.ids(_hashes(list(number)))[places].tolist()
        return [None if id_ == UNKNOWN else id_ for id_ in found]

    def add(self, keys: Sequence[Hashable], ids: Iterable[int]) -> None:
        """Cache the ids of distinct keys for which `ids` returned None."""
        self._ids.add(_hashes(keys), np.fromiter(ids, np.int32, len(keys)))

    def clear(self) -> None:
        """Evict everything."""
        self._ids.clear()


class ObjectIdCache:
    """Object → id of one dictionary, by object identity and not by value.

    It keeps alive the objects of the last `turns` to twice as many lookups: at least the last `limit` of them and at
    most twice as many. Most objects occur once: a name from a perf map is another object in each capture, and must not
    fill the memory of a small fleet. Fewer than `limit` are kept if their `size`s add up to more than `size_limit`; all
    kept objects never exceed twice that.
    """

    def __init__(self, limit: int, turns: int, *, size: Callable[[Any], int], size_limit: int) -> None:
        """`size` returns the size of an object, ≥ 0, in any unit."""
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
        """The id of every object, UNKNOWN if it is not cached; objects may repeat."""
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
        """Cache the ids of distinct objects that are not in the younger generation."""
        sizes = np.fromiter(map(self._size, objects), np.int64, len(objects))
        # The last of them, as many as fit one generation.
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
        """Evict everything."""
        self._young, self._old = _Held(), _Held()

    def _turn(self) -> None:
        self._questions = 0
        self._young, self._old = _Held(), self._young


class _Held:
    """One generation of objects."""

    def __init__(self) -> None:
        self.table = HashTable()
        self.held: list[object] = []
        """Keeps the objects alive, so that their addresses are not reused."""
        self.size = 0


class HashIdCache:
    """128-bit hash → id of a dictionary, for at least the last `limit` that were added or requested.

    It has two tables: when the younger holds `limit` entries, it replaces the older, and a new one begins.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young, self._old = HashTable(), HashTable()

    @classmethod
    def within(cls, size: int) -> "HashIdCache":
        """A cache with the largest limit whose tables take no more than `size` bytes, at least 64 KiB."""
        return cls(entries_in(max(size, _LEAST_BYTES) // 2))

    def clear(self) -> None:
        """Evict everything."""
        self._young, self._old = HashTable(), HashTable()

    def __len__(self) -> int:
        return self._young.used + self._old.used

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return self._young.nbytes + self._old.nbytes

    def ids(self, hashes: Hashes) -> Ids:
        """The id of every hash, UNKNOWN if it is not cached; the hashes are distinct."""
        found = self._young.find(hashes)
        missing = np.flatnonzero(found == UNKNOWN)
        older = self._old.find(hashes[missing])
        found[missing] = older
        again = missing[older != UNKNOWN]
        self.add(hashes[again], found[again])
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        """Cache the ids of distinct hashes that are not in the younger table."""
        for start in range(0, len(ids), self._limit):
            part = slice(start, start + self._limit)
            if self._young.used + len(ids[part]) > self._limit:
                self._young, self._old = HashTable(), self._young
            self._young.add(hashes[part], ids[part])


def _hashes(keys: Sequence[Hashable]) -> Hashes:
    """The keys as hashes; `repr` differs for unequal keys, even with lone surrogates."""
    digests = b"".join(blake2b(repr(key).encode(), digest_size=16).digest() for key in keys)
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


def _addresses(objects: Sequence[object]) -> Hashes:
    """The objects' addresses as hashes: one to one, since both steps are invertible."""
    spread = np.fromiter(map(id, objects), np.uint64, len(objects)) * _SPREAD
    spread ^= spread >> _HALF
    return np.column_stack((spread, np.zeros(len(objects), np.uint64)))
