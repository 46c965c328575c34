"""GIVEN pairs of applications and functions WHEN rows are described THEN each has its own pairs, found once."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import QuestionDropped
from storage.query.shapes.shared_code import Uses, _by_key
from storage.snapshots.query_budget import Budget, Limits, Stop


def uses_of(keys: list[int]) -> Uses:
    places = np.arange(len(keys))
    return Uses(("a",), places, np.array(keys, np.int64), places * 1.0, places * 0.0, places)


@given(st.lists(st.integers(0, 5), max_size=20), st.permutations(range(7)))
def test_each_key_has_its_pairs_in_their_order(made: list[int], asked: list[int]):
    found = list(_by_key(uses_of(made), np.array(asked)))
    assert [part.application.tolist() for part in found] == [
        [place for place, key in enumerate(made) if key == one] for one in asked
    ]


def test_the_next_row_is_not_begun_for_a_question_that_was_dropped():
    budget = Budget(Limits())
    rows: Iterator[Uses] = _by_key(uses_of([1, 2, 1]), np.array([1, 2]))
    with budget.running():
        assert len(next(rows).key) == 2
        budget.stop(Stop.DROPPED)
        with pytest.raises(QuestionDropped):
            next(rows)
