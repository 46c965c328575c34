"""GIVEN blocks of cells that are kept WHEN they are asked for THEN only those of the same rows are given, within the room there is."""

from dataclasses import replace

import numpy as np
import pytest

from storage.query.arrays import Int64
from storage.query.cells.blocks import Entries, OpenBlock, lacking, open_block
from storage.query.cells.kept import BlockKey, KeptBlocks
from storage.rolling import moments
from storage.rolling.cubes import EVENT, Source

SOURCE = Source(EVENT, 1, True, 1)


def key(bucket: int) -> BlockKey:
    return BlockKey(SOURCE, None, 0, bucket)


ONE, TWO = np.array([[1]]), np.array([[2]])
"""Rows of a cell, at two moments."""


def block(rows: Int64 = ONE, entries: int = 10) -> OpenBlock:
    column = np.arange(entries) + 1
    made = open_block(rows, moments.empty(1), Entries(0 * column, column, column, column))
    return replace(made, known=np.array([1, 2]))


def size_of(one: OpenBlock) -> int:
    kept = KeptBlocks(1 << 30)
    kept.put(key(0), one)
    return kept.size.bytes


def test_a_block_is_given_for_the_rows_it_was_read_from() -> None:
    kept, one = KeptBlocks(1 << 20), block()
    assert kept.get(OpenBlock, key(0), ONE) is None
    kept.put(key(0), one)
    assert kept.get(OpenBlock, key(0), ONE) is one
    assert kept.get(OpenBlock, key(0), TWO) is None
    assert kept.get(OpenBlock, key(1), ONE) is None
    other = BlockKey(SOURCE, (1,), 0, 0)
    assert kept.get(OpenBlock, other, ONE) is None


def test_a_newer_block_replaces_the_one_before() -> None:
    kept = KeptBlocks(1 << 20)
    kept.put(key(0), block(entries=1000))
    kept.put(key(0), block(TWO))
    assert kept.size.rows == 1
    assert kept.size.bytes == size_of(block(TWO))


def test_what_was_used_longest_ago_gives_way() -> None:
    size = size_of(block())
    kept = KeptBlocks(5 * size)
    for bucket in range(5):
        kept.put(key(bucket), block())
    assert kept.get(OpenBlock, key(0), ONE) is not None
    kept.put(key(5), block())
    assert kept.size.rows == 5
    assert kept.size.bytes == 5 * size
    assert kept.get(OpenBlock, key(1), ONE) is None
    assert kept.get(OpenBlock, key(0), ONE) is not None


def test_what_is_forgotten_takes_no_room() -> None:
    kept = KeptBlocks(1 << 20)
    kept.put(key(0), block())
    kept.clear()
    assert (kept.size.rows, kept.size.bytes) == (0, 0)
    assert kept.get(OpenBlock, key(0), ONE) is None
    kept.put(key(0), block())
    assert kept.size.bytes == size_of(block())


def test_what_takes_most_of_the_room_is_not_kept() -> None:
    kept = KeptBlocks(3 * size_of(block()))
    kept.put(key(0), block())
    assert kept.size.rows == 0
    assert kept.size.bytes == 0


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


def test_what_is_too_large_leaves_the_block_of_the_same_rows() -> None:
    kept = KeptBlocks(5 * size_of(block()))
    small, large = block(), block(entries=1000)
    kept.put(key(0), small)
    kept.put(key(0), large)
    assert kept.get(OpenBlock, key(0), ONE) is small
    assert kept.size.bytes == size_of(small)
    kept.put(key(0), replace(large, rows=TWO))
    assert kept.size.rows == kept.size.bytes == 0, "of rows that are no more"
