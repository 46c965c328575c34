"""What adding up by function takes of a question's budget is known before anything is unpacked."""

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest
from sqlalchemy import Connection

from storage.errors import BudgetExceeded, QuestionDropped
from storage.query.cells.block_source import BlockSource
from storage.query.cells.function_sums import sums_of
from storage.query.cells.long_blocks import ClosedBlocks
from storage.query.cells.raw_blocks import OpenBlocks
from storage.query.cells.rollup_scan import Blocks, RollupScan
from storage.rollup import long_moments_codec, moments_codec
from storage.rollup.cubes import EVENT, Source
from storage.rollup.long_moments_codec import WeightedMoments
from storage.rollup.moments import Sums
from storage.rollup.read_cells import Cells, WeightedCells
from storage.rollup.time_cover import Cover
from storage.rollup.unpacked_moments import Unpacked
from storage.snapshots.decoded_cache import DecodedCache
from storage.snapshots.query_budget import Budget, Limits, Stop

ONE = np.ones(1)
SOURCE = Source(EVENT, 1, True, 1)
NO_FACTS = (np.zeros(0, np.int64),) * 2


def cell(own: list[int]) -> Sums:
    """A visit with functions 1, 2, …; each ends stacks that have no other."""
    amount, n = np.array(own, np.int64), len(own)
    y, x = amount.astype(np.float64), ONE * sum(own)
    one, visits = np.ones(1, np.int64), np.ones(n, np.int64)
    arguments: list[Any] = [10 * one, one, one, x, x**2, x**4, x**2, n * one, np.arange(n) + 1]
    arguments += [visits, visits, amount, amount, y**2, y**2, x * y, x * y, y**4, y**4]
    return Sums(*arguments)


def cells_of(sums: Sums) -> Cells:
    blobs = moments_codec.encode(sums)
    column = np.ones(len(sums), np.int64)
    total = (sums.x * sums.divisor).astype(np.int64)
    heads, unpacked = moments_codec.decode_heads(blobs), Unpacked(blobs)
    return Cells(*(column,) * 9, total, column, *NO_FACTS, heads, unpacked, column)


def closed_of(blobs: tuple[bytes, ...]) -> WeightedCells:
    column = np.ones(len(blobs), np.int64)
    heads, unpacked = long_moments_codec.decode_heads(blobs), WeightedMoments(blobs)
    doubles = column.astype(np.float64)
    return WeightedCells(
        *(column,) * 7, 0 * column, doubles, column, *NO_FACTS, doubles, heads, unpacked, column
    )


COVER = Cover(days=(1,), weighted=((1, 1),))


def source_of(cells: Cells, closed: tuple[bytes, ...] = ()) -> BlockSource:
    """Where these cells are read from, and nothing is kept."""

    class Given(BlockSource):
        def open(self, *_: object) -> Cells:
            return cells

        def closed(self, *_: object) -> WeightedCells:
            return closed_of(closed)

    return Given(cast(Connection, None), DecodedCache(1 << 20), SOURCE, None)


def gathered_of(sums: Sums, closed: tuple[bytes, ...] = ()) -> RollupScan:
    cells = cells_of(sums)
    of = source_of(cells, closed)
    found = SimpleNamespace(
        blocks=Blocks(OpenBlocks(of, COVER), ClosedBlocks(of, COVER)),
        cells=cells,
        closed=closed_of(()),
        open=SimpleNamespace(weight=3 * ONE),
    )
    return cast(RollupScan, found)


def test_cells_are_added_up_in_units() -> None:
    found = sums_of(gathered_of(cell([3, 0, 4])))
    assert found is not None
    assert found.function.tolist() == [1, 3]
    assert found.own.tolist() == found.total.tolist() == [30, 40]
    assert found.own_weight.tolist() == [90.0, 120.0]


def test_what_does_not_fit_is_not_unpacked() -> None:
    cells = cells_of(cell([1] * 1000))
    with (
        patch.object(Unpacked, "amounts", side_effect=AssertionError),
        Budget(Limits(bytes=1000)).running(),
        pytest.raises(BudgetExceeded) as caught,
    ):
        OpenBlocks(source_of(cells), COVER)
    assert caught.value.limit == "memory"


def test_whoever_goes_away_is_noticed_between_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(Limits())
    amounts = Unpacked.amounts

    def then_left(self: Unpacked) -> Any:
        budget.stop(Stop.DROPPED)
        yield from amounts(self)
        raise AssertionError

    monkeypatch.setattr(Unpacked, "amounts", then_left)
    with budget.running(), pytest.raises(QuestionDropped):
        OpenBlocks(source_of(cells_of(cell([1, 2]))), COVER)
