"""GIVEN runs with planted events WHEN they are mined THEN these are found, and the error is honest."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import Constant, NotANumber, TooLittle
from analysis.event_mining.fusion import Fused, fuse
from analysis.event_mining.mining import Mined, mine, parts
from tests.unit.analysis.event_mining.made_runs import PLANTED, runs


@pytest.fixture(scope="module")
def fused() -> Fused:
    return fuse(runs(np.random.default_rng(0), count=24, irrelevant=15, slots=9))


@pytest.fixture(scope="module")
def mined(fused: Fused) -> Mined:
    return mine(fused, seed=0, dropped=5)


def test_planted_events_come_first(mined: Mined) -> None:
    assert {event.name for event in mined.ranking[:3]} == set(PLANTED)
    assert sum(event.importance for event in mined.ranking) == pytest.approx(1)
    assert all(0 < event.counted < 1 for event in mined.ranking)


def test_the_curve_goes_from_all_events_to_few(mined: Mined, fused: Fused) -> None:
    assert [step.events for step in mined.steps] == [18, 13, 8, 3]
    assert min(step.error for step in mined.steps) < mined.steps[0].error
    assert mined.error < mined.baseline_error
    assert mined.error <= mined.all_events_error
    assert (mined.runs, mined.intervals) == (24, len(fused.ipc))


def test_the_same_seed_mines_the_same() -> None:
    made = fuse(runs(np.random.default_rng(1), count=6, irrelevant=2, slots=4))
    assert mine(made, seed=3, dropped=2) == mine(made, seed=3, dropped=2)


def test_parts_are_fifths_of_each_run() -> None:
    run = np.repeat([0, 1], [50, 23])
    found = parts(run, seed=0)
    for number in (0, 1):
        mine_ = found[run == number]
        assert sorted(set(mine_.tolist())) == [0, 1, 2, 3, 4]
        assert (np.diff(mine_) != 0).sum() == 4


def test_what_cannot_be_mined(fused: Fused) -> None:
    with pytest.raises(Constant):
        mine(replace(fused, ipc=np.ones(len(fused.ipc))), seed=0)
    with pytest.raises(NotANumber):
        mine(replace(fused, values=np.where(fused.values > 1e6, np.nan, fused.values)), seed=0)
    short = fuse(runs(np.random.default_rng(2), count=1, length=40))
    with pytest.raises(TooLittle):
        mine(short, seed=0)
