"""Decoded cells and chunks that stay in memory between questions: one cache with one budget of bytes.

A value is found by its key and says itself of which rows it was decoded; whoever takes it has read the versions of these rows in the
question's own snapshot, so an answer is as fresh as without the cache. A question that takes a value out of the cache is charged as if
it had decoded it, so that whether a question is refused, or answered by a part of the visits, does not depend on what
others asked before.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from typing import TypeVar

import numpy as np


@dataclass(frozen=True, slots=True)
class CacheSize:
    """What a cache holds at one moment."""

    rows: int
    bytes: int
    """About; without what queries under way hold besides."""


def array_bytes(held: object) -> int:
    """Bytes of the arrays among the fields of a dataclass, those of dataclasses in it included."""
    if isinstance(held, np.ndarray):
        return held.nbytes
    if is_dataclass(held):
        return sum(array_bytes(getattr(held, field.name)) for field in fields(held))
    return 0


DEFAULT_BYTES = 512 << 20
_LARGEST_PART = 4
"""A value that is more than this part of the budget is not cached."""

_Value = TypeVar("_Value")


class DecodedCache:
    """Values by key, the least recently used evicted first. Safe to share between threads; values are never changed."""

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        """`limit`: bytes of the values' arrays; 0: nothing is cached."""
        self._limit = limit
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Values, and what their arrays take."""
        with self._lock:
            return CacheSize(len(self._values), self._bytes)

    def clear(self) -> None:
        """Evict everything."""
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def has(self, key: Hashable) -> bool:
        """Whether there is a value, of whatever rows."""
        return key in self._values

    def get(self, kind: type[_Value], key: Hashable) -> _Value | None:
        """The value of a key, if there is one of this type."""
        with self._lock:
            value, _ = self._values.get(key, (None, 0))
            if not isinstance(value, kind):
                return None
            self._values.move_to_end(key)
            return value

    def put(self, key: Hashable, value: object) -> None:
        """Cache a value in place of the one before, unless it is too large: then the one before stays."""
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
