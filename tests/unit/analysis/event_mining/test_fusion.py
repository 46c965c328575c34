"""GIVEN runs with overlapping events WHEN they are fused THEN it is the block matrix of the paper."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.event_mining.fusion import Run, fuse, normalised
from tests.unit.analysis.event_mining.made_runs import runs

ONE = Run(("b", "a"), np.array([[1.0, 10.0], [2.0, 20.0]]), np.array([0.5, 0.6]))
OTHER = Run(("c", "b"), np.array([[7.0, 3.0]]), np.array([0.9]))


def test_the_block_matrix() -> None:
    """DIGEST M2: a column for each event, a block for each run, zeros elsewhere."""
    found = fuse([ONE, OTHER])
    assert found.events == ("a", "b", "c")
    assert found.values == pytest.approx(np.array([[10, 1, 0], [20, 2, 0], [0, 3, 7]]))
    assert found.counted.tolist() == [[True, True, False], [True, True, False], [False, True, True]]
    assert found.ipc == pytest.approx([0.5, 0.6, 0.9])
    assert found.run.tolist() == [0, 0, 1]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_nothing_is_lost_or_added(seed: int, count: int) -> None:
    made = runs(np.random.default_rng(seed), count)
    found = fuse(made)
    assert found.values.sum() == pytest.approx(sum(run.values.sum() for run in made))
    assert not found.values[~found.counted].any()
    assert int(found.counted.sum()) == sum(run.values.size for run in made)
    scaled = normalised(found)
    assert scaled.values.min() == 0
    assert scaled.values.max(axis=0) == pytest.approx(np.ones(len(scaled.events)))


def test_events_that_never_change_are_dropped() -> None:
    flat = Run(("a", "never"), np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([1.0, 1.0]))
    assert normalised(fuse([flat])).events == ("a",)


@pytest.mark.parametrize(
    ("made", "error"),
    [
        ([], InsufficientData),
        ([Run((), np.zeros((2, 0)), np.ones(2))], InsufficientData),
        ([Run(("a",), np.zeros((0, 1)), np.zeros(0))], InsufficientData),
        ([Run(("a", "a"), np.zeros((1, 2)), np.ones(1))], BadShape),
        ([Run(("a",), np.zeros((2, 1)), np.ones(1))], BadShape),
        ([Run(("a",), np.array([[np.nan]]), np.ones(1))], NotANumber),
        ([Run(("a",), np.array([[-1.0]]), np.ones(1))], NotANumber),
        ([Run(("a",), np.array([[1.0]]), np.zeros(1))], NotANumber),
    ],
)
def test_runs_that_cannot_be(made: list[Run], error: type[Exception]) -> None:
    with pytest.raises(error):
        fuse(made)


def test_counters_that_are_all_alike_say_nothing() -> None:
    with pytest.raises(Constant):
        normalised(fuse([Run(("a",), np.ones((3, 1)), np.ones(3))]))
