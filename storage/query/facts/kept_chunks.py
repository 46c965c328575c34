"""Chunks of single applications that stay decoded between questions: one application's days are asked about again and again.

What a profile has never changes: whoever lands a visit anew writes its profiles anew. So a profile that a question's own snapshot
has, written by the same transaction, has the facts that were decoded before, and an answer is as fresh as without.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from storage.query.arrays import Bool, Int32, Int64, Narrow, narrow, ranges
from storage.query.cache_size import CacheSize, array_bytes

KEPT_BYTES = 256 << 20
"""Room for them, if nobody says how much."""
_LARGEST_PART = 4
"""Of one application and day, what is more than this part of all there is room for is not kept."""


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """Whose chunks: of one application, on one day since 1970 UTC."""

    day: int
    application: int
    sample_type_id: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The facts of some profiles, one profile after the other."""

    profile: Int64
    """Ids, ascending."""
    version: Int64
    """The transaction that wrote each."""
    first: Int64
    """Where the facts of each begin, and where those of the last end."""
    stack: Int32
    samples: Narrow

    def has(self, profile: Int64, version: Int64) -> Bool:
        """Which of these profiles it has as they were written then."""
        if not len(self.profile):
            return np.zeros(len(profile), np.bool_)
        place = np.minimum(np.searchsorted(self.profile, profile), len(self.profile) - 1)
        found: Bool = (self.profile[place] == profile) & (self.version[place] == version)
        return found

    def facts(self, profile: Int64) -> tuple[Int64, Int64]:
        """Stacks and samples of profiles it has, in their order."""
        if np.array_equal(profile, self.profile):  # a whole day, as a rule
            return self.stack.astype(np.int64), self.samples.astype(np.int64)
        place = np.searchsorted(self.profile, profile)
        at = ranges(self.first[place], self.first[place + 1])
        return self.stack[at].astype(np.int64), self.samples[at].astype(np.int64)

    def joined(self, newer: "Decoded") -> "Decoded":
        """With other profiles; those that both have are the newer ones."""
        keep = np.flatnonzero(~np.isin(self.profile, newer.profile))
        profile = np.concatenate((self.profile[keep], newer.profile))
        order = np.argsort(profile)
        starts = np.concatenate((self.first[keep], newer.first[:-1] + len(self.stack)))[order]
        ends = np.concatenate((self.first[keep + 1], newer.first[1:] + len(self.stack)))[order]
        at = ranges(starts, ends)
        return Decoded(
            profile[order],
            np.concatenate((self.version[keep], newer.version))[order],
            np.concatenate(([0], np.cumsum(ends - starts))),
            np.concatenate((self.stack, newer.stack))[at],
            np.concatenate((self.samples, newer.samples))[at],
        )


NOTHING = Decoded(
    *(np.zeros(0, np.int64),) * 2, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16)
)


def decoded(profile: Int64, version: Int64, counts: Int64, stack: Int64, samples: Int64) -> Decoded:
    """What these profiles have; they ascend, and so many facts are of each."""
    first = np.concatenate(([0], np.cumsum(counts)))
    return Decoded(profile, version, first, stack.astype(np.int32), narrow(samples))


class KeptChunks:
    """Decoded chunks by application and day, those used longest ago given up first. Safe to share between threads."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        """`limit`: bytes, about."""
        self._limit = limit
        self._lock = threading.Lock()
        self._days: OrderedDict[ChunkKey, tuple[Decoded, int]] = OrderedDict()
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Days of applications, and what their arrays take."""
        with self._lock:
            return CacheSize(len(self._days), self._bytes)

    def clear(self) -> None:
        """Keep none of those there are."""
        with self._lock:
            self._days.clear()
            self._bytes = 0

    def get(self, key: ChunkKey) -> Decoded:
        """What there is of a day; there may be nothing."""
        with self._lock:
            found, _ = self._days.get(key, (NOTHING, 0))
            if found is not NOTHING:
                self._days.move_to_end(key)
            return found

    def put(self, key: ChunkKey, day: Decoded) -> None:
        """Keep this of a day, instead of what there was, unless it is too large."""
        size = array_bytes(day)
        with self._lock:
            _, before = self._days.pop(key, (NOTHING, 0))
            self._bytes -= before
            if size > self._limit // _LARGEST_PART:
                return
            self._days[key] = day, size
            self._bytes += size
            while self._bytes > self._limit:
                _, (_, gone) = self._days.popitem(last=False)
                self._bytes -= gone
