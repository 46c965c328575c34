"""What merged cells say of rows besides sums: machines, about."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.query.cells.evidence import about_machines
from storage.rolling.moments import SLOTS, machine_bit


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=SLOTS))
def test_no_more_machines_than_visits_are_told(machines: set[int]):
    """Each was visited once: bits alone would tell too many machines of half of such sets."""
    bits = np.bitwise_or.reduce(machine_bit(np.array(sorted(machines), np.int64)))
    (told,) = about_machines(np.array([bits]), [len(machines)])
    assert told is None or 1 <= told <= len(machines)


def test_too_many_machines_are_not_told():
    bits = np.bitwise_or.reduce(machine_bit(np.arange(1, 10**4, dtype=np.int64)))
    assert about_machines(np.array([bits, 0]), [20_000, 0]) == [None, 0]
