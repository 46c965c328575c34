"""GIVEN machines in strata WHEN a round is drawn THEN every inclusion probability is what is stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.draw import draw, expectations, round_systematically

sizes = st.lists(st.integers(0, 40), min_size=0, max_size=8)
wishes = st.floats(0, 300, allow_nan=False)


def strata_of(counts):
    """Stratum id → machine ids, all ids distinct."""
    ids = iter(range(10_000))
    return {stratum: [next(ids) for _ in range(count)] for stratum, count in enumerate(counts)}


@given(sizes, wishes, st.integers(0, 2**32))
def test_draw_is_what_its_numbers_say(counts, expected_visits, seed):
    strata = strata_of(counts)
    choices = draw(strata, expected_visits, np.random.default_rng(seed))
    drawn = [choice.machine_id for choice in choices]
    assert len(set(drawn)) == len(drawn), "no machine twice"
    expected = min(expected_visits, sum(counts))
    assert np.floor(expected - 1e-9) <= len(choices) <= np.ceil(expected + 1e-9)
    for choice in choices:
        assert choice.machine_id in strata[choice.stratum_id]
        assert choice.population == len(strata[choice.stratum_id])
        assert choice.drawn == sum(other.stratum_id == choice.stratum_id for other in choices)
        assert 0 < choice.probability <= 1


@given(sizes, wishes)
def test_probabilities_sum_to_the_expected_draws(counts, expected_visits):
    expected = expectations(np.array(counts, dtype=np.int64), expected_visits)
    assert expected.sum() == pytest.approx(min(expected_visits, sum(counts)))
    assert (expected <= np.array(counts) + 1e-9).all()


@given(sizes, wishes, st.integers(0, 2**32))
def test_each_stratum_is_rounded_up_or_down(counts, expected_visits, seed):
    expected = expectations(np.array(counts, dtype=np.int64), expected_visits)
    rounded = round_systematically(expected, np.random.default_rng(seed))
    assert (rounded >= np.floor(expected - 1e-9)).all()
    assert (rounded <= np.ceil(expected)).all()


@given(sizes, st.integers(0, 2**32))
def test_more_than_there_are_means_all(counts, seed):
    choices = draw(strata_of(counts), sum(counts) + 0.5, np.random.default_rng(seed))
    assert sorted(choice.machine_id for choice in choices) == list(range(sum(counts)))
    assert all(choice.probability == 1 for choice in choices)


@pytest.mark.slow
def test_every_machine_is_drawn_as_often_as_its_probability_says():
    strata = strata_of([1, 2, 30, 67])
    random, rounds, expected_visits = np.random.default_rng(20261121), 20_000, 3.3
    times = np.zeros(100)
    probability = np.full(100, np.nan)
    for _ in range(rounds):
        for choice in draw(strata, expected_visits, random):
            times[choice.machine_id] += 1
            probability[choice.machine_id] = choice.probability
    assert probability == pytest.approx(expected_visits / 100)
    deviation = np.sqrt(rounds * probability * (1 - probability))
    assert (np.abs(times - rounds * probability) < 4.5 * deviation).all(), "small strata too"


def test_two_small_strata_can_be_drawn_together():
    strata, random = strata_of([1, 1, 8, 8]), np.random.default_rng(7)
    together = sum(
        {0, 1} <= {choice.stratum_id for choice in draw(strata, 2.0, random)} for _ in range(2_000)
    )
    assert together > 0


@pytest.mark.parametrize("expected_visits", [-1.0, float("nan"), float("inf")])
def test_a_wish_that_is_no_number_of_visits_is_refused(expected_visits):
    with pytest.raises(ValueError, match="cannot draw"):
        draw({1: [1]}, expected_visits, np.random.default_rng(0))
