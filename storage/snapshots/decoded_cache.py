"""A cache of decoded cells and chunks between queries, with one limit in bytes.

A value is found by its key and records the rows from which it was decoded. Callers read the versions of these rows in
the query's own snapshot, so an answer is as fresh as without the cache. A query that uses a cached value is charged as
if it had decoded it. So whether a query is refused, or answered from a part of the visits, does not depend on earlier
queries.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeVar

import numpy as np


@dataclass(frozen=True, slots=True)
class CacheSize:
    """The size of a cache at one moment."""

    rows: int
    bytes: int
    """Approximate; without data held by running queries."""


def array_bytes(held: object) -> int:
    """Bytes of the arrays in the fields of a dataclass, including nested dataclasses."""
    if isinstance(held, np.ndarray):
        return held.nbytes
    if is_dataclass(held):
        return sum(array_bytes(getattr(held, field.name)) for field in fields(held))
    return 0


DEFAULT_BYTES = 512 << 20
_LARGEST_PART = 4
"""A value larger than this fraction of the limit is not cached."""

_Value = TypeVar("_Value")


class DecodedCache:
    """Values by key, with least recently used eviction. Thread-safe; values must not be changed."""

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        """`limit`: bytes of the values' arrays; 0: nothing is cached."""
        self._limit = limit
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Values, and the bytes of their arrays."""
        with self._lock:
            return CacheSize(len(self._values), self._bytes)

    def clear(self) -> None:
        """Evict everything."""
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def has(self, key: Hashable) -> bool:
        """Whether the key has a value, for any rows."""
        return key in self._values

    def get(self, kind: type[_Value], key: Hashable) -> _Value | None:
        """The value of a key, if it has this type."""
        with self._lock:
            value, _ = self._values.get(key, (None, 0))
            if not isinstance(value, kind):
                return None
            self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: object) -> None:
        """Cache a value in place of the previous one; if it is too large, the previous one stays."""
        size = array_bytes(value)
        if size > self._limit // _LARGEST_PART:
            return
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._bytes += size - before
            while self._bytes > self._limit:
                _, (_, evicted) = self._values.popitem(last=False)
                self._bytes -= evicted
