"""GIVEN runs with planted events WHEN they are mined THEN these are found, and the error is honest."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import Constant, InsufficientData, NotANumber
from analysis.event_mining.fusion import Fused, fuse
from analysis.event_mining.mining import Mined, mine, parts
from tests.unit.analysis.event_mining.made_runs import PLANTED, runs


@pytest.fixture(scope="module")
def fused() -> Fused:
    return fuse(runs(np.random.default_rng(0), count=24, irrelevant=15, slots=9))


@pytest.fixture(scope="module")
def mined(fused: Fused) -> Mined:
    return mine(fused, seed=0, dropped=5)


@pytest.mark.slow
def test_planted_events_come_first(mined: Mined) -> None:
    assert {event.name for event in mined.ranking[:3]} == set(PLANTED)
    assert sum(event.importance for event in mined.ranking) == pytest.approx(1)
    assert all(0 < event.counted < 1 for event in mined.ranking)


def test_the_curve_goes_from_all_events_to_few(mined: Mined, fused: Fused) -> None:
    assert [step.events for step in mined.steps] == [18, 13, 8, 3]
    assert min(step.error for step in mined.steps) < mined.steps[0].error
    assert mined.error < mined.baseline_error
    # Of five runs that judge: as good as all events, with a sixth of them.
    assert mined.error <= 1.02 * mined.all_events_error
    assert (mined.runs, mined.intervals) == (24, len(fused.ipc))


def test_the_same_seed_mines_the_same() -> None:
    made = fuse(runs(np.random.default_rng(1), count=6, irrelevant=2, slots=4))
    assert mine(made, seed=3, dropped=2) == mine(made, seed=3, dropped=2)


def test_parts_are_whole_runs() -> None:
    run = np.repeat(np.arange(12), np.arange(20, 32))
    found = parts(run, seed=0)
    of_run = [set(found[run == number].tolist()) for number in range(12)]
    assert all(len(one) == 1 for one in of_run)
    counts = np.bincount([one.pop() for one in of_run], minlength=5)
    assert sorted(counts.tolist()) == [2, 2, 2, 3, 3]


def test_a_run_told_by_its_zeros_makes_no_error_small() -> None:
    """Runs differ in IPC and no event has to do with it: parts of each run held out said 6 % where new runs showed 30 %."""
    rng = np.random.default_rng(4)
    made = [
        replace(run, ipc=np.exp(rng.normal(0, 0.25)) * rng.normal(1, 0.03, len(run.ipc)))
        for run in runs(rng, count=40, irrelevant=22, slots=6, length=20)
    ]
    found = mine(fuse(made), seed=0)
    assert found.error > 0.8 * found.baseline_error
    assert found.error > 0.12


def test_what_cannot_be_mined(fused: Fused) -> None:
    with pytest.raises(Constant):
        mine(replace(fused, ipc=np.ones(len(fused.ipc))), seed=0)
    with pytest.raises(NotANumber):
        mine(replace(fused, values=np.where(fused.values > 1e6, np.nan, fused.values)), seed=0)
    for few in ({"count": 4, "length": 90}, {"count": 5, "length": 10}):
        with pytest.raises(InsufficientData):
            mine(fuse(runs(np.random.default_rng(2), **few)), seed=0)
