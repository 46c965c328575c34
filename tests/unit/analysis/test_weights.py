"""GIVEN strata, days and classes WHEN they are weighed THEN every machine-second is stood for once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape
from analysis.weights import CLASSES, Frame, weigh
from tests.unit.analysis.frames import frame, made


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.integers(0, 30))
def test_weights_add_up_to_the_machine_time_of_days_with_a_visit(
    seed: int, strata: int, days: int, visits: int
) -> None:
    found = made(seed, strata=strata, days=days, visits=visits)
    machine_s = found.frame.population * found.frame.covered_s
    seen = np.isin(found.frame.day, found.frame.day[found.at])
    stood_for = (found.weights.weight * found.frame.watched_s).sum()
    assert stood_for == pytest.approx(machine_s[seen].sum())
    assert found.weights.uncovered == pytest.approx(1 - machine_s[seen].sum() / machine_s.sum())
    assert (found.weight > 0).all()
    assert (found.group >= 0).all()


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_a_group_has_several_visits_unless_its_whole_stratum_has_one(seed: int, visits: int) -> None:
    weights = made(seed, visits=visits).weights
    of_strata = weights.visits.reshape(-1, CLASSES)
    assert not ((of_strata == 1) & (of_strata.sum(axis=1, keepdims=True) > 1)).any()
    assert weights.share.reshape(-1, CLASSES).sum(axis=1) == pytest.approx(1)


def test_without_failures_a_weight_is_machine_time_over_watched_time() -> None:
    weights = weigh(frame([(100, {1: (3, 3), 4: (1, 1)}), (50, {0: (2, 2)})]))
    assert weights.weight[0, [1, 4]] == pytest.approx(100 * 3600 / (4 * 5))
    assert weights.weight[1, 0] == pytest.approx(50 * 3600 / (2 * 5))
    assert weights.fpc == pytest.approx([1 - 20 / 360_000, 1 - 10 / 180_000])


def test_a_class_that_answers_seldom_weighs_more() -> None:
    weights = weigh(frame([(100, {1: (6, 6), 4: (6, 2)})]))
    assert weights.weight[0, 4] == pytest.approx(3 * weights.weight[0, 1])
    assert weights.weight[0, 1] * 30 == pytest.approx(100 * 3600 / 2)


def test_a_class_that_never_answered_is_stood_for_by_the_nearest() -> None:
    weights = weigh(frame([(100, {1: (4, 4), 3: (4, 4), 4: (4, 0)})]))
    assert weights.weight[0, 3] == pytest.approx(2 * weights.weight[0, 1])
    assert weights.weight[0, 4] == 0


def test_of_two_classes_as_near_the_busier_stands_for_it() -> None:
    weights = weigh(frame([(100, {1: (4, 4), 2: (4, 0), 3: (4, 4)})]))
    assert weights.weight[0, 3] == pytest.approx(2 * weights.weight[0, 1])


def test_failures_of_unknown_utilisation_change_nothing() -> None:
    with_them = weigh(frame([(100, {0: (5, 0), 1: (4, 4), 4: (2, 2)})]))
    without = weigh(frame([(100, {1: (4, 4), 4: (2, 2)})]))
    assert with_them.weight == pytest.approx(without.weight)


def test_a_visit_of_unknown_utilisation_weighs_what_visits_do_on_average() -> None:
    weights = weigh(frame([(100, {0: (2, 2), 1: (4, 4), 4: (4, 2)})]))
    assert weights.weight[0, 0] == pytest.approx(100 * 3600 / (8 * 5))


@pytest.mark.parametrize(
    ("ingested", "stratum"),
    [
        ([2, 2, 2], [0, 1, 2]),
        ([1, 5, 3], [0, 0, 1]),
        ([5, 3, 1], [0, 1, 1]),
        ([0, 0, 2, 0], [0, 0, 0, 0]),
        ([1, 1, 1], [0, 0, 0]),
        ([0, 1], [0, 0]),
        ([0, 0], [-1, -1]),
    ],
)
def test_thin_strata_are_joined_with_their_neighbours(ingested: list[int], stratum: list[int]) -> None:
    weights = weigh(frame([(10, {1: (n, n)}) for n in ingested]))
    assert (weights.group[:, 1] // CLASSES).tolist() == stratum


@pytest.mark.parametrize(
    ("ingested", "alike", "stratum"),
    [
        # Machines of 7, 8 and 9; the hours of 7 and 8 that were thinned have the highest numbers.
        ([9, 9, 9, 1, 1], [7, 8, 9, 7, 8], [0, 1, 2, 0, 1]),
        ([9, 9, 9, 4, 0], [7, 8, 9, 7, 8], [0, 2, 3, 1, 2]),
        ([1, 9, 9, 1, 0], [7, 8, 9, 7, 8], [0, 1, 2, 0, 1]),
        ([0, 9, 9, 1, 0], [7, 8, 9, 7, 8], [0, 0, 1, 0, 0]),
        ([9, 9, 1, 1, 1], [7, 8, 9, 7, 8], [0, 1, 1, 0, 1]),
    ],
)
def test_thin_strata_are_joined_with_those_of_the_same_machines(
    ingested: list[int], alike: list[int], stratum: list[int]
) -> None:
    """A large stratum's thinned hour with one visit, joined with a small stratum's, made that five times too large."""
    made_of = frame([(10, {1: (n, n)}) for n in ingested])
    weights = weigh(replace(made_of, alike=np.array(alike)))
    assert (weights.group[:, 1] // CLASSES).tolist() == stratum


def test_days_are_never_joined() -> None:
    found = made(3, strata=2, days=3, visits=4)
    strata = np.where(found.weights.group[:, 1] >= 0, found.weights.group[:, 1] // CLASSES, -1)
    for number in set(strata.tolist()) - {-1}:
        assert len(set(found.frame.day[strata == number].tolist())) == 1


def test_nothing_at_all_is_uncovered() -> None:
    weights = weigh(frame([]))
    assert weights.weight.shape == (0, CLASSES)
    assert weights.uncovered == 1


def test_columns_of_different_lengths_are_refused() -> None:
    good = frame([(10, {1: (2, 2)})])
    with pytest.raises(BadShape):
        Frame(good.stratum, good.day, np.ones(2), good.covered_s, good.drawn, good.visits, good.watched_s)
    with pytest.raises(BadShape):
        Frame(
            good.stratum,
            good.day,
            good.population,
            good.covered_s,
            good.drawn[:, :4],
            good.visits,
            good.watched_s,
        )
