"""A day's cells with their weights in."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from analysis.weights import equal
from storage.rollup.day_weights import day_parts
from storage.rollup.moments import Sums


def test_visits_that_weigh_nothing_count_like_their_machines() -> None:
    """As open cells say it: two visits of two machines, only one of which is covered."""
    one = np.ones(2, np.int64)
    x = np.array([3.0, 4.0])
    amount = x.astype(np.int64)
    arguments: list[Any] = [one, one, np.array([1, 2]), x, x**2, x**4, x**2, one, 7 * one, one]
    arguments += [np.array([1, 2]), amount, amount, x**2, x**2, x**2, x**2, x**4, x**4]
    cells = SimpleNamespace(moments=Sums(*arguments), total=amount)
    weights = SimpleNamespace(
        weights=equal(np.array([2.0])), of=lambda _: (np.array([10.0, 0.0]), np.array([0, -1]))
    )
    found = day_parts(cast(Any, cells), np.zeros(2, np.int64), 1, cast(Any, weights), cast(Any, cells))
    assert found.function.tolist() == [7]
    assert found.machines.tolist() == found.row_machines.tolist() == [3]
    assert found.visits.tolist() == [2]
    assert (found.own_units.tolist(), found.total_units.tolist()) == ([7], [7])
    assert (found.own.tolist(), found.x.tolist()) == ([30.0], [30.0])
