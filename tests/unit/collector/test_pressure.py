"""GIVEN captures that wait WHEN an hour begins THEN its visits are halved, and doubled back, but never none."""

from hypothesis import given
from hypothesis import strategies as st

from collector.pressure import CALM_S, LATE_S, MANY, VERY_LATE_S, judged
from storage.backlog import NONE, Backlog
from storage.thinning import MOST, share

backlogs = st.builds(Backlog, st.integers(0, 10**6), st.floats(0, 1e6))


@given(st.integers(0, MOST), backlogs)
def test_an_hour_differs_from_the_one_before_by_a_step_and_stays_in_bounds(before, backlog):
    now = judged(before, backlog)
    assert 0 <= now <= MOST
    assert -1 <= now - before <= 2
    assert 0 < share(now) <= 1


@given(st.integers(0, MOST - 1), backlogs)
def test_visits_are_halved_whenever_captures_are_late_or_many(before, backlog):
    late = backlog.oldest_s > LATE_S or backlog.waiting > MANY
    assert (judged(before, backlog) > before) == late


def test_after_an_hour_of_waiting_they_are_quartered():
    assert judged(0, Backlog(10, VERY_LATE_S + 1)) == 2


def test_between_late_and_calm_nothing_changes():
    assert judged(3, Backlog(10, (CALM_S + LATE_S) / 2)) == 3


@given(st.integers(0, MOST))
def test_when_nothing_waits_the_plan_comes_back(before):
    halved = before
    for _ in range(MOST):
        halved = judged(halved, NONE)
    assert halved == 0


@given(st.floats(0.2, 4.0), st.floats(0, 20), st.integers(0, MOST), st.floats(100, 10_000))
def test_workers_that_land_a_part_of_what_is_planned_catch_up(capacity, behind, halved, planned):
    """Hours of `planned` visits, of which workers land `capacity` times as many; they begin hours `behind`."""
    waiting, late = behind * capacity * planned, 0
    for hour in range(400):
        landed = capacity * planned
        oldest_s = 3600 * waiting / landed
        halved = judged(halved, Backlog(int(waiting), oldest_s))
        waiting = max(waiting + planned * share(halved) - landed, 0.0)
        late = late + 1 if oldest_s > 2 * 3600 else 0
        if hour > 300 and capacity >= 1:
            assert halved == 0, "workers that keep up are given the whole plan"
    assert late == 0, "hours of waiting come to an end"
