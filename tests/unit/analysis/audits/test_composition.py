"""GIVEN visits of successive days WHEN composition is asked THEN shares add up, and what comes and goes is told."""

import numpy as np
import pytest

from analysis.audits.composition import compose
from analysis.audits.rollout import Rollout
from analysis.errors import BadShape, InsufficientData, NotEstimable
from tests.unit.analysis.frames import table


def test_a_release_comes_and_another_goes() -> None:
    rng = np.random.default_rng(0)
    days = np.arange(8.0)
    tables = []
    for new in (0, 0.02, 0.1, 0.3, 0.6, 0.9, 0.99, 1):
        shares = rng.dirichlet([0.01 + 80 * 0.8 * (1 - new), 0.01 + 80 * 0.8 * new, 80 * 0.2], 60)
        tables.append(table(np.array([rng.multinomial(500, row) for row in shares])))
    found = compose(days, tables)
    assert found.value.sum(axis=1) == pytest.approx(np.ones(8))
    assert (found.lo <= found.value).all()
    assert (found.value <= found.hi).all()
    changes = found.changes()
    old, new, steady = changes[0], changes[1], changes[2]
    assert isinstance(new, Rollout)
    assert new.reached[0.5].value == pytest.approx(4.1, abs=0.4)
    assert isinstance(old, Rollout)
    assert old.reached[0.9].value > old.reached[0.5].value
    assert isinstance(steady, NotEstimable | Rollout)


def test_a_time_without_visits_is_not_zero() -> None:
    found = compose(np.arange(3.0), [table([[1, 3]] * 9), table(np.zeros((0, 2))), table([[3, 1]] * 9)])
    assert np.isnan(found.value[1]).all()
    assert found.low_confidence[1].all()
    assert isinstance(found.changes()[0], Rollout | NotEstimable)


def test_what_cannot_be_said() -> None:
    with pytest.raises(InsufficientData):
        compose(np.zeros(0), [])
    with pytest.raises(BadShape):
        compose(np.zeros(1), [table([[1, 2]]), table([[1, 2]])])
    with pytest.raises(BadShape):
        compose(np.zeros(2), [table([[1, 2]]), table([[1, 2, 3]])])
    lonely = compose(np.zeros(1), [table([[1, 2]] * 5)]).changes()[0]
    assert isinstance(lonely, InsufficientData)
