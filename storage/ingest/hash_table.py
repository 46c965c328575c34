"""A vectorized table from 128-bit hashes to the ids of dictionary rows, for thousands of keys per call.

It uses open addressing in numpy. A slot has 16 bytes, one cache line per probe: the first word of the hash, the upper
half of the second, and the id in place of the lower half. So 96 bits are compared. Among ten million cached stacks two
share these with probability 10⁻¹⁵, unless they are crafted (`stack_hash` describes the effect of that). Hashes of
stacks are easily crafted in their low bits, so each table derives slots with its own secret: a program with similar
stack hashes must not make all lookups probe a long run of slots.
"""

import os

import numpy as np
import numpy.typing as npt

from storage.ingest.stack_hash import Hashes

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

UNKNOWN = 0
"""Not an id: dictionaries number their rows from 1."""
SLOT_BYTES = 16
_FIRST_SLOTS = 1 << 10
_ID = np.uint64((1 << 32) - 1)
_HALF = np.uint64(32)
_PART = 1 << 18
"""Entries moved at once into a larger table; they take a few megabytes."""


def slots_for(entries: int) -> int:
    """Slots of a table with this many entries: a power of two, at most three quarters full."""
    slots = _FIRST_SLOTS
    while 4 * entries > 3 * slots:
        slots *= 2
    return slots


def entries_in(size: int) -> int:
    """The maximum number of entries of a table of at most `size` bytes; 0 if the smallest table is larger."""
    slots = size // SLOT_BYTES
    return 3 * (1 << slots.bit_length() - 1) // 4 if slots >= _FIRST_SLOTS else 0


class HashTable:
    """Hash → id; grows with its entries and never evicts."""

    def __init__(self) -> None:
        self.used = 0
        """Entries."""
        self._slots = np.zeros((_FIRST_SLOTS, 2), np.uint64)
        # The factors are odd, so multiplication modulo 2⁶⁴ keeps numbers distinct.
        self._secret = np.frombuffer(os.urandom(32), np.uint64) | np.uint64(1)

    @property
    def nbytes(self) -> int:
        """Memory of the slots."""
        return self._slots.nbytes

    def find(self, hashes: Hashes) -> Ids:
        """The id of every hash, UNKNOWN if it is missing; hashes may repeat."""
        found = np.full(len(hashes), UNKNOWN, np.int32)
        asked, at = np.arange(len(hashes)), self._home(hashes, len(self._slots))
        first, second, mask = hashes[:, 0], hashes[:, 1] & ~_ID, len(self._slots) - 1
        while len(asked):
            slots = np.take(self._slots, at, axis=0)
            taken = (slots[:, 1] & _ID) != 0
            # If the upper halves are equal, only the id remains.
            rest = slots[:, 1] ^ second
            same = taken & (slots[:, 0] == first) & (rest <= _ID)
            found[asked[same]] = rest[same]
            on = taken & ~same
            asked, first, second = asked[on], first[on], second[on]
            at = (at[on] + 1) & mask
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        """Insert distinct new hashes with ids ≥ 1.

        After a MemoryError the table holds its earlier entries, and perhaps some of these.
        """
        entries = hashes.copy()
        entries[:, 1] &= ~_ID
        entries[:, 1] |= ids.astype(np.uint64)
        used, before = self.used + len(ids), self._slots
        slots = slots_for(used)
        if slots <= len(before):
            self.used = used  # first, because entries inserted before a MemoryError take slots
            self._fill(before, entries)
            return
        larger = np.zeros((slots, 2), np.uint64)
        for start in range(0, len(before), _PART):
            part = before[start : start + _PART]
            self._fill(larger, part[(part[:, 1] & _ID) != 0])
        self._fill(larger, entries)
        self._slots, self.used = larger, used

    def _fill(self, slots: Hashes, entries: Hashes) -> None:
        at, mask = self._home(entries, len(slots)), len(slots) - 1
        while len(entries):
            free = np.flatnonzero((slots[at, 1] & _ID) == 0)
            mine = entries[free]
            slots[at[free]] = mine  # the last of several entries for one slot wins
            there = np.take(slots, at[free], axis=0)
            left = np.ones(len(entries), bool)
            left[free] = (there[:, 0] != mine[:, 0]) | (there[:, 1] != mine[:, 1])
            entries, at = entries[left], (at[left] + 1) & mask

    def _home(self, hashes: Hashes, slots: int) -> Int64s:
        """The first slot to probe for each hash in a table of this many slots, from the compared bits."""
        key, *factors = self._secret
        mixed: npt.NDArray[np.uint64] = hashes[:, 0] ^ key
        mixed *= factors[0]
        mixed ^= mixed >> _HALF
        mixed += hashes[:, 1] & ~_ID
        mixed *= factors[1]
        mixed ^= mixed >> _HALF
        mixed *= factors[2]
        # The upper bits depend on all others; in a table twice as large the order of slots stays the same.
        mixed >>= np.uint64(65 - slots.bit_length())
        return mixed.view(np.int64)
