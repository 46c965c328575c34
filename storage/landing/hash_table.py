"""A table from 128-bit hashes to the ids of a dictionary's rows, asked and told about thousands at once.

Open addressing in numpy, 16 bytes a slot, one cache line a look: the first word of the hash, the upper
half of the second, and the id in the place of the lower half. What is compared are 96 bits: among the
ten million stacks that a process may remember two share these with probability 10⁻¹⁵.
"""

import numpy as np
import numpy.typing as npt

from storage.landing.stack_hash import Hashes

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

UNKNOWN = 0
"""No id: dictionaries number their rows from 1."""
SLOT_BYTES = 16
_FIRST_SLOTS = 1 << 10
_ID = np.uint64((1 << 32) - 1)
_PART = 1 << 18
"""Entries that are moved at once into a larger table: what is in between takes a few megabytes."""


def slots_for(entries: int) -> int:
    """Slots of a table with so many entries: a power of two, at most three quarters of which are taken."""
    slots = _FIRST_SLOTS
    while 4 * entries > 3 * slots:
        slots *= 2
    return slots


def entries_in(size: int) -> int:
    """The most entries whose table takes no more than `size` bytes, 0 for less than the smallest one."""
    slots = size // SLOT_BYTES
    return 3 * (1 << slots.bit_length() - 1) // 4 if slots >= _FIRST_SLOTS else 0


class HashTable:
    """Hash → id; grows with what it holds and forgets nothing."""

    def __init__(self) -> None:
        self.used = 0
        """Entries."""
        self._clear(_FIRST_SLOTS)

    @property
    def nbytes(self) -> int:
        """Memory of the slots."""
        return self._slots.nbytes

    def find(self, hashes: Hashes) -> Ids:
        """The id of every hash, UNKNOWN where it is not there; hashes may repeat."""
        found = np.full(len(hashes), UNKNOWN, np.int32)
        asked, at = np.arange(len(hashes)), self._home(hashes)
        first, second = hashes[:, 0], hashes[:, 1] & ~_ID
        while len(asked):
            slots = np.take(self._slots, at, axis=0)
            taken = (slots[:, 1] & _ID) != 0
            # The id alone is left where the upper halves are the same.
            rest = slots[:, 1] ^ second
            same = taken & (slots[:, 0] == first) & (rest <= _ID)
            found[asked[same]] = rest[same]
            on = taken & ~same
            asked, first, second = asked[on], first[on], second[on]
            at = (at[on] + 1) & self._mask
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        """Put in distinct hashes that are not there, with ids ≥ 1."""
        self.used += len(ids)
        slots = slots_for(self.used)
        if slots > len(self._slots):
            before = self._slots
            self._clear(slots)
            for start in range(0, len(before), _PART):
                part = before[start : start + _PART]
                self._fill(part[(part[:, 1] & _ID) != 0])
        entries = hashes.copy()
        entries[:, 1] &= ~_ID
        entries[:, 1] |= ids.astype(np.uint64)
        self._fill(entries)

    def _clear(self, slots: int) -> None:
        self._mask = slots - 1
        self._slots = np.zeros((slots, 2), np.uint64)

    def _fill(self, entries: Hashes) -> None:
        at = self._home(entries)
        while len(entries):
            free = np.flatnonzero((self._slots[at, 1] & _ID) == 0)
            mine = entries[free]
            self._slots[at[free]] = mine  # of several for one slot the last stays
            there = np.take(self._slots, at[free], axis=0)
            left = np.ones(len(entries), bool)
            left[free] = (there[:, 0] != mine[:, 0]) | (there[:, 1] != mine[:, 1])
            entries, at = entries[left], (at[left] + 1) & self._mask

    def _home(self, hashes: Hashes) -> Int64s:
        return (hashes[:, 0] & np.uint64(self._mask)).astype(np.int64)
