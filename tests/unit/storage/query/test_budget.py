"""GIVEN a budget WHEN a question takes more, or is called off THEN it ends at its next checkpoint, and says why."""

import threading

import pytest

from storage.errors import BudgetExceeded, QuestionDropped
from storage.snapshots.query_budget import (
    Budget,
    Limits,
    Stop,
    budget_of,
    checkpoint,
    given_back,
    offered,
    take,
)


def test_what_runs_without_a_question_is_not_bounded():
    checkpoint()
    take(1 << 50)
    with given_back():
        take(1 << 50)


def test_bytes_add_up_until_there_are_too_many():
    with Budget(Limits(bytes=100)).running():
        take(60)
        take(40)
        with pytest.raises(BudgetExceeded, match="0 MiB") as caught:
            take(1)
    assert caught.value.limit == "memory"
    assert "application" in caught.value.hint


def test_what_was_tried_in_vain_is_given_back_and_what_served_is_not():
    budget = Budget(Limits(bytes=100))
    with budget.running():
        with pytest.raises(BudgetExceeded), given_back():
            take(110)
        assert budget.bytes_left == 100
        with given_back():
            take(90)
        assert budget.bytes_left == 10


def test_a_question_that_takes_too_long_ends_at_a_checkpoint():
    budget = Budget(Limits(seconds=0.01))
    with budget.running(), pytest.raises(BudgetExceeded, match=r"0\.01 seconds") as caught:
        all(checkpoint() is None for _ in iter(int, 1))
    assert caught.value.limit == "time"


def test_the_first_reason_to_stop_counts():
    budget = Budget(Limits())
    budget.stop(Stop.DROPPED)
    budget.stop(Stop.TIME)
    with budget.running(), pytest.raises(QuestionDropped):
        checkpoint()


def test_another_thread_stops_it():
    budget = Budget(Limits())
    stopping = threading.Thread(target=budget.stop, args=(Stop.DROPPED,))
    with budget.running():
        checkpoint()
        stopping.start()
        stopping.join()
        with pytest.raises(QuestionDropped):
            take(0)
    checkpoint()


def test_an_offered_budget_is_the_one_that_is_used():
    mine = Budget(Limits())
    with offered(mine):
        assert budget_of(Limits(bytes=1)) is mine
    assert budget_of(Limits(bytes=1)).limits.bytes == 1
