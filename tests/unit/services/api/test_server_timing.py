"""GIVEN an answer WHEN it is made THEN its header says which part of it took how long, and the parts add up."""

from services.api import server_timing
from services.api.server_timing import Timing
from storage.snapshots.query_budget import Budget, Limits


def test_parts_are_told_and_add_up(monkeypatch):
    seconds = iter([10.2, 11.2, 11.2, 11.25])
    monkeypatch.setattr(server_timing, "perf_counter", lambda: next(seconds))
    budget = Budget(Limits())
    taken = Timing(budget, 10.0)
    with taken.writing():
        budget.asked_s, budget.database_s = 0.9, 0.4
    with taken.packing():
        pass
    assert taken.header == (
        "wait;dur=200.0, database;dur=400.0, reckoning;dur=500.0, writing;dur=100.0, packing;dur=50.0"
    )


def test_nothing_takes_less_than_no_time():
    budget = Budget(Limits())
    budget.asked_s, budget.database_s = 0.5, 0.6
    assert "reckoning;dur=0.0, writing;dur=0.0" in Timing(budget, 0.0).header
