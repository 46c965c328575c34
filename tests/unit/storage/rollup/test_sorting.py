"""Packed sorting gives what sorting pairs gives, whether the pairs fit one number or not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import by_pair, counts, group_starts, runs, slices, weight_at

LARGE = st.sampled_from([0, 1, 5, 2**20, 2**31 - 1, 2**40, 2**62])


@given(st.lists(st.tuples(LARGE, LARGE), max_size=30))
def test_pairs_are_sorted_and_equal_ones_found(pairs: list[tuple[int, int]]) -> None:
    high, low = (np.array([p[i] for p in pairs], np.int64) for i in (0, 1))
    order, first = by_pair(high, low)
    assert order.tolist() == sorted(range(len(pairs)), key=lambda i: pairs[i])
    ordered = [pairs[i] for i in order.tolist()]
    assert first.tolist() == [i for i, p in enumerate(ordered) if i == 0 or p != ordered[i - 1]]


@pytest.mark.parametrize("limit", [2**10, 2**31, 2**62])
def test_every_way_of_sorting_gives_the_same(limit: int) -> None:
    random = np.random.default_rng(1)
    high, low = random.integers(0, limit, (2, 5000))
    high[::3], low[::3] = high[0], low[0]
    order, _ = by_pair(high, low)
    assert order.tolist() == np.lexsort((low, high)).tolist()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=10))
def test_ranges_follow_one_another(slices: list[tuple[int, int]]) -> None:
    first, length = (np.array([s[i] for s in slices], np.int64) for i in (0, 1))
    assert runs(first, length).tolist() == [n for f, k in slices for n in range(f, f + k)]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), max_size=10), st.booleans())
def test_slices_are_what_lies_at_ranges(given: list[tuple[int, int]], one_behind_the_other: bool) -> None:
    first, length = (np.array([s[i] for s in given], np.int64) for i in (0, 1))
    if one_behind_the_other:
        first = np.cumsum(length) - length
    column = np.random.default_rng(1).integers(0, 1000, 3000)
    at = runs(first, length)
    assert [part.tolist() for part in slices((column, -column), first, length)] == [
        column[at].tolist(),
        (-column)[at].tolist(),
    ]


def test_nothing_is_sorted_counted_and_added_up() -> None:
    none = np.zeros(0, np.int64)
    assert [part.tolist() for part in by_pair(none, none)] == [[], []]
    assert group_starts(none).tolist() == []
    assert counts(none, 2).tolist() == [0, 0]
    assert weight_at(none, np.zeros(0), 2).tolist() == [0.0, 0.0]
