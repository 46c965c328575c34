"""GIVEN the functions that a feature would touch WHEN its worth is asked THEN it is their share, with one interval."""

import numpy as np
import pytest

from analysis.audits.feature import touched
from analysis.errors import BadShape, InsufficientData, NotANumber
from tests.unit.analysis.frames import table

FLOATING = np.array([True, False, True])


def test_the_share_is_of_the_sum() -> None:
    rng = np.random.default_rng(0)
    y = rng.multinomial(400, [0.05, 0.9, 0.05], size=50)
    found = touched(table(y), FLOATING)
    assert found.share.value == pytest.approx((y[:, 0] + y[:, 2]).sum() / y.sum())
    assert found.share.lo < 0.1 < found.share.hi
    assert (found.low_confidence, found.visits) == (False, 50)


def test_functions_that_share_the_work_have_less_variance_together() -> None:
    """Work that two functions split differently in each visit: the sum is steady, the parts are not."""
    rng = np.random.default_rng(1)
    split = rng.random((60, 1))
    rest = rng.normal(900, 30, (60, 1))
    y = np.round(np.hstack([100 * split, rest, 100 * (1 - split)]))
    both, one = touched(table(y), FLOATING), touched(table(y), np.array([True, False, False]))
    assert both.share.hi - both.share.lo < (one.share.hi - one.share.lo) / 3


def test_amdahl() -> None:
    found = touched(table(np.tile([20, 70, 10], (30, 1))), FLOATING)
    assert found.saved(3).value == pytest.approx(0.3 * 2 / 3)
    assert found.saved(1).value == 0
    with pytest.raises(NotANumber):
        found.saved(0.5)
    with pytest.raises(NotANumber):
        found.saved(np.nan)


def test_nothing_touched_has_an_upper_bound() -> None:
    found = touched(table(np.tile([0, 70, 0], (30, 1))), FLOATING)
    assert found.share.value == 0
    assert 0 < found.share.hi < 0.2


def test_what_cannot_be_said() -> None:
    with pytest.raises(InsufficientData):
        touched(table(np.zeros((0, 3))), FLOATING)
    with pytest.raises(BadShape):
        touched(table(np.ones((3, 2))), FLOATING)
