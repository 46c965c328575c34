"""GIVEN captures that wait WHEN an hour begins THEN its visits are halved, and doubled back, but never none."""

from hypothesis import given
from hypothesis import strategies as st

from collector import backpressure
from collector.backpressure import (
    CAUGHT_UP_S,
    LATE_S,
    MAX_BACKLOG,
    MIN_BACKLOG,
    MIN_VISITS_PER_HOUR,
    MIN_VISITS_PER_STRATUM,
    VERY_LATE_S,
    max_halvings,
    next_halvings,
)
from storage.backlog import NONE, Backlog
from storage.thinning import MOST, Thinned, share

backlogs = st.builds(Backlog, st.integers(0, 10**6), st.floats(0, 1e6))


@given(st.integers(0, MOST), backlogs)
def test_an_hour_differs_from_the_one_before_by_a_step_and_stays_in_bounds(before, backlog):
    now = next_halvings(before, backlog)
    assert 0 <= now <= MOST
    assert -1 <= now - before <= 2
    assert 0 < share(now) <= 1


@given(st.integers(0, MOST - 1), backlogs)
def test_visits_are_halved_whenever_captures_are_late_or_many(before, backlog):
    late = (backlog.oldest_s > LATE_S and backlog.waiting >= MIN_BACKLOG) or backlog.waiting > MAX_BACKLOG
    assert (next_halvings(before, backlog) > before) == late


def test_after_an_hour_of_waiting_they_are_quartered():
    assert next_halvings(0, Backlog(MIN_BACKLOG, VERY_LATE_S + 1)) == 2


@given(st.integers(0, MOST), st.integers(0, MIN_BACKLOG - 1), st.floats(0, 1e6))
def test_a_few_captures_are_no_load_however_old(before, waiting, oldest_s):
    """What a stop of hours left behind must not thin the fleet for the hour after it."""
    assert next_halvings(before, Backlog(waiting, oldest_s)) == max(before - 1, 0)


def test_between_late_and_calm_nothing_changes():
    assert next_halvings(3, Backlog(MIN_BACKLOG, (CAUGHT_UP_S + LATE_S) / 2)) == 3


@given(st.integers(0, MOST))
def test_when_nothing_waits_the_plan_comes_back(before):
    halved = before
    for _ in range(MOST):
        halved = next_halvings(halved, NONE)
    assert halved == 0


@given(st.floats(0.2, 4.0), st.floats(0, 20), st.integers(0, MOST), st.floats(500, 10_000))
def test_workers_that_ingest_a_part_of_what_is_planned_catch_up(capacity, behind, halved, planned):
    """Hours of `planned` visits, of which workers ingest `capacity` times as many; they begin hours `behind`."""
    waiting, late = behind * capacity * planned, 0
    for hour in range(400):
        ingested = capacity * planned
        oldest_s = 3600 * waiting / ingested
        halved = next_halvings(halved, Backlog(int(waiting), oldest_s))
        waiting = max(waiting + planned * share(halved) - ingested, 0.0)
        late = late + 1 if oldest_s > 2 * 3600 else 0
        if hour > 300 and capacity >= 1:
            assert halved == 0, "workers that keep up are given the whole plan"
    assert late == 0, "hours of waiting come to an end"


@given(st.floats(0, 1e6), st.integers(1, 1000))
def test_hours_stay_dense_enough_to_be_weighed_by_themselves(planned, strata):
    """A large stratum's hour of one visit would be weighed with a small stratum's, whose figures are then wrong."""
    least = max(MIN_VISITS_PER_HOUR, MIN_VISITS_PER_STRATUM * strata)
    most = max_halvings(planned, strata)
    assert 0 <= most <= MOST
    assert most == 0 or planned * share(most) >= least
    assert most == MOST or planned * share(most + 1) < least


def test_a_campaign_of_few_visits_is_never_thinned_and_a_large_one_is():
    assert max_halvings(240, 3) == 0
    assert max_halvings(60 * 60, 3) == 4
    assert max_halvings(60 * 60, 90) == 1
    assert max_halvings(1e6, 3) == MOST


def decided_with(monkeypatch, known, backlog, hours, most=MOST):
    looks = []
    monkeypatch.setattr(backpressure.thinning, "of_hour", lambda _c, _id, hour: known[hour])
    monkeypatch.setattr(backpressure, "read_backlog", lambda _: looks.append(1) or backlog)
    return backpressure.halvings_by_hour(None, 1, "fleet", hours, most), len(looks)


LATE = Backlog(3000, LATE_S + 1)


def test_an_hour_that_was_decided_says_nothing_of_the_next(monkeypatch):
    known = {7: Thinned(0, 0), 8: Thinned(None, 0)}
    assert decided_with(monkeypatch, known, LATE, [7, 8]) == ({7: 0, 8: 1}, 1)
    assert decided_with(monkeypatch, known, LATE, [7]) == ({7: 0}, 0)


def test_hours_that_one_round_reaches_first_are_judged_once(monkeypatch):
    known = {hour: Thinned(None, 1) for hour in (7, 8, 9)}
    assert decided_with(monkeypatch, known, LATE, [7, 8, 9]) == ({7: 2, 8: 2, 9: 2}, 1)


def test_an_hour_is_halved_no_more_often_than_the_campaign_bears(monkeypatch):
    assert decided_with(monkeypatch, {7: Thinned(None, 3)}, LATE, [7], most=2) == ({7: 2}, 1)
