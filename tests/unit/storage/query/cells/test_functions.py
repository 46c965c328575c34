"""What adding up by function takes of a question's budget is known before anything is unpacked."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from storage.errors import BudgetExceeded, QuestionDropped
from storage.query.budget import Budget, Limits, Stop
from storage.query.cells.functions import sums_of
from storage.query.cells.gathered import Gathered
from storage.rolling import moments_codec, weighted
from storage.rolling.moments import Sums
from storage.rolling.moments_codec import Unpacked
from storage.rolling.weighted import WeightedMoments

ONE = np.ones(1)


def cell(own: list[int]) -> Sums:
    """A visit with functions 1, 2, …; each ends stacks that have no other."""
    amount, n = np.array(own, np.int64), len(own)
    y, x = amount.astype(np.float64), ONE * sum(own)
    one, visits = np.ones(1, np.int64), np.ones(n, np.int64)
    arguments: list[Any] = [10 * one, one, one, x, x**2, x**4, x**2, n * one, np.arange(n) + 1]
    arguments += [visits, visits, amount, amount, y**2, y**2, x * y, x * y, y**4, y**4]
    return Sums(*arguments)


def gathered_of(sums: Sums, closed: tuple[bytes, ...] = ()) -> Any:
    cells, weighs = Unpacked(moments_codec.encode(sums)), WeightedMoments(closed)
    return SimpleNamespace(
        cells=SimpleNamespace(
            unpacked=cells, amounts=cells.amounts, total=(sums.x * sums.divisor).astype(np.int64)
        ),
        closed=SimpleNamespace(unpacked=weighs, amounts=weighs.amounts, total=np.zeros(0, np.int64)),
        open=SimpleNamespace(weight=3 * ONE),
    )


def test_cells_are_added_up_in_units() -> None:
    found = sums_of(cast(Gathered, gathered_of(cell([3, 0, 4]))))
    assert found is not None
    assert found.function.tolist() == [1, 3]
    assert found.own.tolist() == found.total.tolist() == [30, 40]
    assert found.own_weight.tolist() == [90.0, 120.0]


def test_what_does_not_fit_is_not_unpacked() -> None:
    given = gathered_of(cell([1] * 1000))
    with Budget(Limits(bytes=1000)).running(), pytest.raises(BudgetExceeded) as caught:
        sums_of(given)
    assert caught.value.limit == "memory"
    assert "_parts" not in vars(given.cells.unpacked)


def test_whoever_goes_away_is_noticed_between_parts() -> None:
    given = gathered_of(cell([1, 2]))
    budget = Budget(Limits())
    amounts = given.cells.amounts

    def then_left() -> Any:
        budget.stop(Stop.DROPPED)
        yield from amounts()
        raise AssertionError

    given.cells.amounts = then_left
    with budget.running(), pytest.raises(QuestionDropped):
        sums_of(given)


def test_closed_cells_that_do_not_count_are_told_by_their_first_byte() -> None:
    given = gathered_of(cell([1, 2]), (weighted.UNCOUNTED + b"no more is read",))
    with Budget(Limits(bytes=0)).running():
        assert sums_of(given) is None
