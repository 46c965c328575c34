"""A stack's hash is its functions' in their order, and nothing else's."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.ingest.stack_hash import hash_runs

stacks = st.lists(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=20), min_size=1, max_size=12)


def hashes_of(runs: list[list[int]]) -> list[tuple[int, ...]]:
    flat = np.array([f for run in runs for f in run], np.int32)
    offsets = np.cumsum([0, *map(len, runs)], dtype=np.int64)
    return [tuple(row) for row in hash_runs(flat, np.arange(len(flat)), offsets).tolist()]


@settings(deadline=None)
@given(stacks, stacks)
def test_a_hash_does_not_depend_on_the_neighbours(runs: list[list[int]], others: list[list[int]]) -> None:
    assert hashes_of(others + runs)[len(others) :] == hashes_of(runs) == [hashes_of([run])[0] for run in runs]


@settings(deadline=None)
@given(stacks)
def test_equal_hashes_are_equal_stacks(runs: list[list[int]]) -> None:
    assert len(set(hashes_of(runs))) == len({tuple(run) for run in runs})


def test_all_small_stacks_differ_in_both_words() -> None:
    """Neighbouring ids, every order, every length up to five, and long recursions."""
    runs = [list(run) for n in range(1, 6) for run in itertools.product(range(1, 6), repeat=n)]
    runs += [[1] * n for n in range(6, 129)] + [[1, 2] * n for n in range(3, 65)]
    words = np.array(hashes_of(runs), np.uint64)
    assert len(np.unique(words[:, 0])) == len(np.unique(words[:, 1])) == len(runs)


def test_places_are_indirect() -> None:
    function = np.array([5, 9], np.int32)
    hashed = hash_runs(function, np.array([0, 1, 0]), np.array([0, 3]))
    assert [tuple(row) for row in hashed.tolist()] == hashes_of([[5, 9, 5]])


def test_stored_identities_stay() -> None:
    """Words are spelled out: with another hash every stack in a database would be interned again."""
    assert hashes_of([[1], [1, 2, 3]]) == [
        (0x910A2DEC89025CC1, 0x397BEC6705C701C5),
        (0xEC30431FA743D2EC, 0x1410553F033907CC),
    ]
