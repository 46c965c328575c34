"""GIVEN a seed and a purpose WHEN chance is asked THEN the answer is the same whoever asks, and looks like chance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulation.seeded_random import generator, normal, uniform, word


@given(st.integers(0, 2**63), st.integers(0, 10**9), st.integers(0, 10**9))
def test_one_number_is_that_of_the_whole_array(seed, row, column):
    many = uniform(seed, "load", np.array([row, row + 1])[:, None], np.array([column, column + 1])[None, :])
    assert many[0, 0] == uniform(seed, "load", row, column)
    assert ((many >= 0) & (many < 1)).all()


def test_numbers_are_uniform_and_unrelated():
    at = np.arange(20_000)
    one, other, seeded = uniform(1, "a", at), uniform(1, "b", at), uniform(2, "a", at)
    for values in (one, other, seeded):
        assert np.abs(np.histogram(values, 20, (0, 1))[0] - 1000).max() < 160  # five standard deviations
    for a, b in ((one, other), (one, seeded), (one[1:], one[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.04


def test_keys_do_not_merge():
    assert uniform(7, "x", 1, 2) != uniform(7, "x", 2, 1)
    assert len(np.unique(uniform(7, "x", np.arange(300)[:, None], np.arange(300)[None, :]))) == 90_000


def test_normal_numbers_have_their_moments():
    values = normal(3, "load", np.arange(20_000))
    assert abs(values.mean()) < 0.04
    assert abs(values.std() - 1.0) < 0.04


def test_a_purpose_has_a_generator_of_its_own():
    assert generator(1, "a").random() == generator(1, "a").random()
    assert len({generator(1, "a").random(), generator(1, "b").random(), generator(1, "a", 1).random()}) == 3
    assert word("a") != word("b")
