"""Gradient-boosted regression trees and their feature importance (DIGEST M4, M5).

Trees are grown on random halves of the rows and consider a third of the columns at a time: five times as fast as with
all of them, and less misled by a single column (Friedman, Computational Statistics & Data Analysis 38 (2002)). Leaves
have at least 20 rows: with leaves of one row, half of the most important events of a program were unrelated to it. The
seed determines all random choices.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

from analysis.arrays import Float
from analysis.input_checks import enough, numbers, positives, same_length, varied

TREES = 150
_LEAF = 20
LEAST = 50
"""Minimum number of rows to learn from."""


class _Predicts(Protocol):
    def predict(self, x: Float) -> Float: ...


@dataclass(frozen=True, slots=True)
class Trees:
    """A fitted model."""

    importance: Float
    """Importance of each column, (E,), 0…1, adding up to 1.

    It is the improvement of the squared error by the column's splits, summed over a tree and averaged over trees."""
    _regressor: _Predicts

    def predict(self, x: Float) -> Float:
        """Predicted responses of rows; (N,)."""
        return np.asarray(self._regressor.predict(x), np.float64)


def grow(x: Float, y: Float, seed: int) -> Trees:
    """Grow trees for y, (N,), by the columns of x, (N, E); least squares.

    Raises InsufficientData below 50 rows, Constant if y does not vary, NotANumber, BadShape.
    """
    rows, response = numbers("values", x), numbers("response", y)
    same_length("Rows and responses", rows, response)
    enough("rows of training data", len(response), LEAST)
    enough("columns of training data", rows.shape[1], 1)
    varied("responses", response)
    regressor = GradientBoostingRegressor(
        n_estimators=TREES,
        max_depth=3,
        learning_rate=0.05,
        min_samples_leaf=_LEAF,
        subsample=0.5,
        max_features=1 / 3,
        random_state=seed,
    )
    regressor.fit(rows, response)
    gain = np.asarray(regressor.feature_importances_, np.float64)
    whole = float(gain.sum())
    return Trees(gain / whole if whole > 0 else np.full(len(gain), 1 / len(gain)), regressor)


def relative_error(measured: Float, predicted: Float) -> float:
    """Mean of |measured − predicted| / measured, for measured > 0 (DIGEST M4).

    Raises InsufficientData, NotANumber, BadShape.
    """
    truth = positives("measured response", measured)
    same_length("Measured and predicted", truth, predicted)
    enough("responses", len(truth), 1)
    return float(np.mean(np.abs(truth - numbers("predicted response", predicted)) / truth))
