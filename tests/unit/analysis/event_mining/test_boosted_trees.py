"""GIVEN rows and responses WHEN trees are grown THEN importance adds up and finds what was planted."""

import numpy as np
import pytest

from analysis.errors import BadShape, Constant, InsufficientData, NotANumber
from analysis.event_mining.boosted_trees import grow, relative_error


def test_importance_is_a_share_and_finds_the_cause() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((300, 6))
    found = grow(x, 3 * x[:, 2] ** 2 + 0.5 * x[:, 4] + rng.normal(0, 0.02, 300), seed=1)
    assert found.importance.sum() == pytest.approx(1)
    assert np.argsort(-found.importance)[:2].tolist() == [2, 4]
    again = grow(x, 3 * x[:, 2] ** 2 + 0.5 * x[:, 4], seed=1)
    assert again.predict(x) == pytest.approx(grow(x, 3 * x[:, 2] ** 2 + 0.5 * x[:, 4], seed=1).predict(x))


def test_the_papers_error() -> None:
    """DIGEST M4."""
    assert relative_error(np.array([1.0, 2.0]), np.array([0.9, 2.4])) == pytest.approx(0.15)


def test_what_cannot_be_learned() -> None:
    x = np.random.default_rng(0).random((60, 2))
    with pytest.raises(InsufficientData):
        grow(x[:49], x[:49, 0], seed=0)
    with pytest.raises(InsufficientData):
        grow(x[:, :0], x[:, 0], seed=0)
    with pytest.raises(Constant):
        grow(x, np.ones(60), seed=0)
    with pytest.raises(NotANumber):
        grow(np.where(x > 0.5, np.nan, x), x[:, 0], seed=0)
    with pytest.raises(BadShape):
        grow(x, x[:50, 0], seed=0)
    with pytest.raises(NotANumber):
        relative_error(np.zeros(2), np.ones(2))
    with pytest.raises(InsufficientData):
        relative_error(np.zeros(0), np.zeros(0))
    with pytest.raises(BadShape):
        relative_error(np.ones(2), np.ones(3))
