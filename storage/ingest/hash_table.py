"""A table from 128-bit hashes to the ids of a dictionary's rows, asked and told about thousands at once.

Open addressing in numpy, 16 bytes a slot, one cache line a look: the first word of the hash, the upper
half of the second, and the id in the place of the lower half. What is compared are 96 bits: among the
ten million stacks that a process may remember two share these with probability 10⁻¹⁵, if nobody crafted
them (`stack_hash` says what somebody who does can do).

Hashes of stacks are crafted easily in their low bits, so the slot of one is drawn by each table anew: a
program that gives its stacks similar hashes shall not make everybody's look-ups pass over a row of them.
"""

import os

import numpy as np
import numpy.typing as npt

from storage.ingest.stack_hash import Hashes

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

UNKNOWN = 0
"""No id: dictionaries number their rows from 1."""
SLOT_BYTES = 16
_FIRST_SLOTS = 1 << 10
_ID = np.uint64((1 << 32) - 1)
_HALF = np.uint64(32)
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
        self._slots = np.zeros((_FIRST_SLOTS, 2), np.uint64)
        # The factors are odd: what is multiplied by one modulo 2⁶⁴ stays distinct.
        self._secret = np.frombuffer(os.urandom(32), np.uint64) | np.uint64(1)

    @property
    def nbytes(self) -> int:
        """Memory of the slots."""
        return self._slots.nbytes

    def find(self, hashes: Hashes) -> Ids:
        """The id of every hash, UNKNOWN where it is not there; hashes may repeat."""
        found = np.full(len(hashes), UNKNOWN, np.int32)
        asked, at = np.arange(len(hashes)), self._home(hashes, len(self._slots))
        first, second, mask = hashes[:, 0], hashes[:, 1] & ~_ID, len(self._slots) - 1
        while len(asked):
            slots = np.take(self._slots, at, axis=0)
            taken = (slots[:, 1] & _ID) != 0
            # The id alone is left where the upper halves are the same.
            rest = slots[:, 1] ^ second
            same = taken & (slots[:, 0] == first) & (rest <= _ID)
            found[asked[same]] = rest[same]
            on = taken & ~same
            asked, first, second = asked[on], first[on], second[on]
            at = (at[on] + 1) & mask
        return found

    def add(self, hashes: Hashes, ids: Ids) -> None:
        """Put in distinct hashes that are not there, with ids ≥ 1.

        After a MemoryError the table holds what it held, and perhaps some of these.
        """
        entries = hashes.copy()
        entries[:, 1] &= ~_ID
        entries[:, 1] |= ids.astype(np.uint64)
        used, before = self.used + len(ids), self._slots
        slots = slots_for(used)
        if slots <= len(before):
            self.used = used  # first: what gets in before memory ends takes slots
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
            slots[at[free]] = mine  # of several for one slot the last stays
            there = np.take(slots, at[free], axis=0)
            left = np.ones(len(entries), bool)
            left[free] = (there[:, 0] != mine[:, 0]) | (there[:, 1] != mine[:, 1])
            entries, at = entries[left], (at[left] + 1) & mask

    def _home(self, hashes: Hashes, slots: int) -> Int64s:
        """Where in a table of so many slots the look for each begins, by the bits that are compared."""
        key, *factors = self._secret
        mixed: npt.NDArray[np.uint64] = hashes[:, 0] ^ key
        mixed *= factors[0]
        mixed ^= mixed >> _HALF
        mixed += hashes[:, 1] & ~_ID
        mixed *= factors[1]
        mixed ^= mixed >> _HALF
        mixed *= factors[2]
        # The upper bits, on which all others bear; in a table twice as large the order stays the same.
        mixed >>= np.uint64(65 - slots.bit_length())
        return mixed.view(np.int64)
