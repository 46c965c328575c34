"""What merged cells say of machines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.cells.seen_machines import about_machines
from storage.rollup.moments import MOST_MACHINES, SLOTS, machine_bit

NONE = np.zeros(0, np.int64)


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=SLOTS))
def test_no_more_machines_than_visits_are_told(machines: set[int]):
    """Each was visited once: bits alone would tell too many machines of half of such sets."""
    bits = np.bitwise_or.reduce(machine_bit(np.array(sorted(machines), np.int64)))
    (told,) = about_machines(np.array([bits]), [len(machines)], NONE)
    assert told is None or 1 <= told <= len(machines)


def test_too_many_machines_are_not_told():
    bits = np.bitwise_or.reduce(machine_bit(np.arange(1, 10**4, dtype=np.int64)))
    assert about_machines(np.array([bits, 0]), [20_000, 0], NONE) == [None, 0]


@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=MOST_MACHINES), st.data())
def test_of_known_machines_no_more_are_told_and_all_of_them_exactly(known: set[int], data: st.DataObject):
    ids = np.array(sorted(known), np.int64)
    seen = np.array(data.draw(st.lists(st.sampled_from(ids.tolist()), min_size=1, unique=True)), np.int64)
    bits = np.array([np.bitwise_or.reduce(machine_bit(some)) for some in (seen, ids)])
    told, all_of_them = about_machines(bits, [10_000, 10_000], ids)
    assert 1 <= told <= len(known)
    assert all_of_them == len(known)


@pytest.mark.parametrize("fleet", [10, 40, 160])
def test_which_machines_there_are_halves_the_error(fleet: int):
    """The root of its mean square, over fleets of which nine machines in ten were seen."""
    random = np.random.default_rng(1)
    errors = np.zeros((100, 2))
    for row in errors:
        ids = random.choice(10**6, fleet, replace=False)
        seen = ids[: round(0.9 * fleet)]
        bits = np.array([np.bitwise_or.reduce(machine_bit(seen))])
        for place, known in enumerate((ids, NONE)):
            [told] = about_machines(bits, [10_000], known)
            row[place] = (MOST_MACHINES if told is None else told) - len(seen)
    informed, alone = np.sqrt(np.mean(errors**2, axis=0))
    assert informed < 0.6 * alone
    assert informed < 0.07 * fleet
