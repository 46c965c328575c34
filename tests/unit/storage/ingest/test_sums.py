"""Sums are exact, also where doubles are not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import sum_at

EXACT = 1 << 53
"""Whole numbers that add up to less add up exactly in doubles."""
SIZE = 5
facts = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, EXACT >> 4)), max_size=40)


@given(facts)
def test_sums_are_those_of_whole_numbers(rows: list[tuple[int, int]]) -> None:
    """Lists of some twenty large numbers are beyond what doubles add up exactly, short ones are not."""
    expected = [sum(value for at, value in rows if at == index) for index in range(SIZE)]
    index, values = np.array(rows, np.int64).reshape(-1, 2).T
    assert sum_at(index, values, SIZE).tolist() == expected


def test_a_sum_that_no_double_holds() -> None:
    index, values = np.zeros(3, np.int64), np.array([EXACT, 1, 1 << 60])
    assert sum_at(index, values, 2).tolist() == [EXACT + 1 + (1 << 60), 0]
