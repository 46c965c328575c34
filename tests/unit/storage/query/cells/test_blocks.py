"""GIVEN entries of cells WHEN they become a block THEN it adds up and knows what it lacks."""

from dataclasses import replace

import numpy as np
import pytest

from storage.arrays import Int64
from storage.query.cells.blocks import Entries, OpenBlock, lacking, open_block
from storage.rollup import moments

ONE = np.array([[1]])
"""Rows of a cell."""


def block(rows: Int64 = ONE, entries: int = 10) -> OpenBlock:
    column = np.arange(entries) + 1
    made = open_block(rows, moments.empty(1), Entries(0 * column, column, column, column))
    return replace(made, known=np.array([1, 2]))


def test_entries_are_added_up_by_function_and_weighed_by_cell() -> None:
    entries = Entries(*map(np.array, ([1, 0, 1, 0, 1], [7, 7, 3, 9, 7], [0, 2, 4, 0, 1], [5, 2, 4, 6, 1])))
    found = open_block(ONE, moments.empty(2), entries)
    sums = found.amounts(np.array([10.0, 100.0]))
    assert sums.function.tolist() == [3, 7, 9]
    assert sums.own.tolist() == [4, 3, 0]
    assert sums.total.tolist() == [4, 8, 6]
    assert sums.own_weight.tolist() == [400.0, 120.0, 0.0]
    assert sums.total_weight.tolist() == [400.0, 620.0, 60.0]


def test_no_entry_is_no_function() -> None:
    nothing = np.zeros(0, np.int64)
    found = open_block(ONE, moments.empty(1), Entries(*(nothing,) * 4))
    assert len(found.amounts(np.ones(1)).function) == 0


@pytest.mark.parametrize(
    ("wanted", "lacks"), [([], False), ([1, 2], False), ([3], True), ([1, 99], False), ([2, 10], True)]
)
def test_a_block_lacks_what_its_cells_have_and_it_does_not_know(wanted: list[int], lacks: bool) -> None:
    assert lacking(block(), np.array(wanted, np.int64)) == lacks
    knows_all = replace(block(), known=np.arange(11))
    assert not lacking(knows_all, np.array(wanted, np.int64))


@pytest.mark.parametrize("unit", [1, 10_101_010, (1 << 40) + 1])
@pytest.mark.parametrize("most", [3, 1 << 15, 1 << 20, 1 << 22])
def test_amounts_of_any_size_come_back(unit: int, most: int) -> None:
    own = np.array([0, most, 1]) * unit
    entries = Entries(np.array([0, 1, 0]), np.array([70_000, 5, 5]), own, own + unit)
    sums = open_block(ONE, moments.empty(2), entries).amounts(np.array([1.0, 0.5]))
    assert sums.function.tolist() == [5, 70_000]
    assert sums.own.tolist() == [(most + 1) * unit, 0]
    assert sums.total.tolist() == [(most + 3) * unit, unit]
    assert sums.own_weight.tolist() == pytest.approx([(most / 2 + 1) * unit, 0])
    assert sums.total_weight.tolist() == pytest.approx([((most + 1) / 2 + 2) * unit, unit])
