"""Sums that must be exact, and orders that numpy has too."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import distinct, group_starts, ranking, sum_at


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


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 10_000)), max_size=40))
def test_few_ids_of_many_are_told_apart_like_many_of_few(ids: list[int]):
    found, place = distinct(np.array(ids, np.int64))
    assert found.tolist() == sorted(set(ids))
    assert found[place].tolist() == ids
    assert found.dtype == place.dtype == np.int64


@given(st.lists(st.sampled_from([-2.5, -1.0, 0.0, 1.0, 7.0, 1e300]), max_size=40))
def test_equal_numbers_stay_in_their_order(values: list[float]):
    assert ranking(np.array(values)).tolist() == sorted(range(len(values)), key=values.__getitem__)
