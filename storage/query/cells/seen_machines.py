"""Estimate the number of machines from the bits in merged cells (`storage.rollup.moments.machine_bit`).

Bits alone estimate a dozen machines as 11 to 13, which may exceed the machines of the store. The inventory has the
possible machines and so their bits: the number of set bits then shows which share of them was seen.
"""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from storage.arrays import Int64
from storage.rollup.moments import MOST_MACHINES, SLOTS, machine_bit
from storage.rollup.moments import machines as machines_of
from storage.schema import machine
from storage.snapshots.snapshot_cache import cached_per_snapshot

_PARTS = np.linspace(0.0, 1.0, 1025)


@cached_per_snapshot
def read_known_machines(connection: Connection) -> Int64:
    """The ids of all machines that were ever in the inventory; none if there are more than the bits can count."""
    ids = connection.scalars(select(machine.c.machine_id).limit(MOST_MACHINES + 1)).all()
    return np.array(ids if len(ids) <= MOST_MACHINES else (), np.int64)


def about_machines(bits: Int64, visits: Sequence[int], known: Int64) -> list[int | None]:
    """Estimated machines, at most `visits`, and at most the `known` ones if given. None if too many to count."""
    about = machines_of(bits) if not len(known) else _of_known(bits, known)
    return [None if np.isnan(n) else min(int(n), v) for n, v in zip(about.tolist(), visits, strict=True)]


def _of_known(bits: Int64, known: Int64) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Estimated machines if each known machine is seen with equal probability, by the number of set bits."""
    of_slot = np.unique(machine_bit(known), return_counts=True)[1]
    expected = (1 - (1 - _PARTS[:, None]) ** of_slot).sum(axis=1)
    part = np.interp(np.arange(SLOTS + 1), expected, _PARTS)
    return np.rint(part * len(known))[np.bitwise_count(bits)]
