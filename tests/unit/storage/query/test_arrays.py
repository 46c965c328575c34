"""Sums that must be exact."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.query.arrays import group_starts, sum_at


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**58)), max_size=8))
def test_sums_are_those_of_python_integers(pairs: list[tuple[int, int]]):
    index = np.array([i for i, _ in pairs], np.int64)
    values = np.array([v for _, v in pairs], np.int64)
    expected = [sum(v for i, v in pairs if i == place) for place in range(5)]
    assert sum_at(index, values, 5).tolist() == expected


@given(st.lists(st.integers(0, 3)).map(sorted))
def test_groups_start_where_the_key_changes(keys: list[int]):
    starts = [i for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key]
    assert group_starts(np.array(keys, np.int64)).tolist() == starts
