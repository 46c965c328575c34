"""Pairs of a function and a visit: both forms, side by side, and what is neither."""

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.blobs.columns import pack_many
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup.visit_list_codec import Pairs, pack_pairs, unpack_pairs

REFUSALS = (CorruptCell, CorruptChunk, struct.error)
FUNCTIONS = st.one_of(st.integers(1, 40), st.integers(1, (1 << 31) - 1))
AMOUNTS = st.one_of(st.integers(0, 3), st.integers(0, 1 << 50))


@st.composite
def cells_of(draw: st.DrawFn) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Pairs, how many each cell has, and how many visits: dense ones and sparse ones."""
    visits = draw(st.lists(st.sampled_from([1, 2, 7, 8, 9, 16, 60, 255]), max_size=5))
    rows = []
    for cell, n in enumerate(visits):
        pairs = draw(
            st.dictionaries(st.tuples(FUNCTIONS, st.integers(0, n - 1)), st.tuples(AMOUNTS, AMOUNTS))
        )
        if draw(st.booleans()):
            pairs |= {(function, visit): (0, 1) for function in (3, 4) for visit in range(n)}
        rows += [(cell, *key, *amounts) for key, amounts in sorted(pairs.items())]
    cell, function, number, own, more = np.array(rows, np.int64).reshape(-1, 5).T
    each = np.array(visits, np.int64)
    first = np.cumsum(each) - each
    counts = np.bincount(cell, minlength=len(visits)).astype(np.int64)
    return Pairs(function, (first[cell] if len(cell) else cell) + number, own, more), counts, each


def in_columns(pairs: Pairs, rows: np.ndarray, visits: np.ndarray) -> list[bytes]:
    """As every cell was written once."""
    steps = np.diff(pairs.function, prepend=0)
    first = (np.cumsum(rows) - rows)[rows > 0]
    steps[first] = pairs.function[first]
    number = pairs.visit - np.repeat(np.cumsum(visits) - visits, rows)
    return pack_many((steps, number, pairs.own, pairs.more), rows)


def assert_same(a: Pairs, b: Pairs) -> None:
    assert [column.tolist() for column in a] == [column.tolist() for column in b]


def views(blobs: list[bytes]) -> list[memoryview]:
    return [memoryview(blob) for blob in blobs]


@settings(deadline=None)
@given(cells_of(), st.data())
def test_pairs_survive_in_either_form_and_in_both(cells: Any, data: st.DataObject) -> None:
    pairs, rows, visits = cells
    now, once = pack_pairs(*cells), in_columns(*cells)
    mixed = [data.draw(st.sampled_from(both)) for both in zip(now, once, strict=True)]
    for blobs in (now, once, mixed):
        assert_same(unpack_pairs(views(blobs), rows, visits), pairs)


@pytest.mark.slow
@settings(deadline=None)
@given(cells_of())
def test_a_cell_is_written_as_if_it_were_the_only_one(cells: Any) -> None:
    pairs, rows, visits = cells
    bounds = np.concatenate(([0], np.cumsum(rows)))
    first = np.cumsum(visits) - visits
    apart = []
    for i, (low, high) in enumerate(pairwise(bounds.tolist())):
        one = Pairs(*(column[low:high] for column in pairs))
        apart += pack_pairs(one._replace(visit=one.visit - first[i]), rows[i : i + 1], visits[i : i + 1])
    assert pack_pairs(*cells) == apart


def a_cell(functions: int, visits: int, share: float) -> tuple[Pairs, np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    function, visit = np.nonzero(random.random((functions, visits)) < share)
    n = len(function)
    own, more = random.geometric(0.8, n) - 1, random.geometric(0.3, n)
    return Pairs(1 + 3 * function, visit, own, more), np.array([n]), np.array([visits])


@pytest.mark.parametrize(("visits", "share"), [(2, 0.7), (5, 0.5), (12, 0.3), (60, 0.5)])
def test_the_form_with_bits_is_the_smaller_one(visits: int, share: float) -> None:
    cell = a_cell(3000, visits, share)
    [now], [once] = pack_pairs(*cell), in_columns(*cell)
    assert now[0] == 3
    assert len(now) < 0.85 * len(once)


def test_few_of_many_visits_are_written_as_ever() -> None:
    cell = a_cell(3000, 255, 0.01)
    assert pack_pairs(*cell) == in_columns(*cell)


def test_a_blob_of_the_first_version_is_read_for_ever() -> None:
    """Bytes are spelled out: another layout needs another form."""
    pairs, rows, visits = Pairs(
        np.array([2, 2, 5]), np.array([0, 2, 1]), np.array([1, 0, 0]), np.array([0, 4, 1])
    ), np.array([3]), np.array([3])  # fmt: skip
    blob = bytes.fromhex("03 02000000 03000000 03000000  01 01 02  01 05 02  04000000 01 80 04 01")
    assert pack_pairs(pairs, rows, visits) == [blob]
    assert_same(unpack_pairs([memoryview(blob)], rows, visits), pairs)
    columns = bytes.fromhex("01  02 00 03  00 02 01  01 00 00  00 04 01")
    assert_same(unpack_pairs([memoryview(columns)], rows, visits), pairs)


@pytest.mark.parametrize(
    "blob",
    [
        "03 02000000 03000000 03000000  01 01 02  01 05 0a  04000000 01 80 04 01",  # a visit that there is not
        "03 02000000 03000000 03000000  01 01 02  01 07 00  04000000 01 80 04 01",  # a function of none
        "03 02000000 03000000 03000000  01 01 02  01 05 06  04000000 01 80 04 01",  # a pair more
        "03 02000000 03000000 03000000  01 01 02  01 05 02  03000000 01 80 04",  # an amount less
        "03 02000000 03000000 03000000  01 01 02  01 05 02 00  04000000 01 80 04 01",  # a byte between
        "03 02000000 03000000",
        "03 ffffffff 03000000 03000000  01 01 02  01 05 02  04000000 01 80 04 01",  # functions without end
        "03",
        "",
    ],
)
def test_what_is_no_blob_of_three_pairs_is_refused(blob: str) -> None:
    with pytest.raises(REFUSALS):
        unpack_pairs([memoryview(bytes.fromhex(blob))], np.array([3]), np.array([3]))


@pytest.mark.parametrize("functions", [1, 3, 200_000_000, (1 << 32) - 1])
@pytest.mark.parametrize("visits", [0, 1])
def test_more_functions_than_pairs_are_refused_before_they_are_unpacked(functions: int, visits: int) -> None:
    blob = struct.pack("<BIII", 3, functions, 4, 1) + bytes.fromhex("01 01 01 01  01  00000000")
    with pytest.raises(CorruptCell, match="more functions"):
        unpack_pairs([memoryview(blob)], np.array([0]), np.array([visits]))


@settings(deadline=None)
@given(cells_of(), st.data())
def test_damage_is_an_error_or_other_pairs_but_never_a_crash(cells: Any, data: st.DataObject) -> None:
    _, rows, visits = cells
    blobs = pack_pairs(*cells)
    if not blobs:
        return
    which = data.draw(st.integers(0, len(blobs) - 1))
    damaged = bytearray(blobs[which])
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    blobs[which] = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    try:
        found = unpack_pairs(views(blobs), rows, visits)
    except REFUSALS:
        return
    assert {len(column) for column in found} == {int(rows.sum())}
    assert not len(found.visit) or 0 <= int(found.visit.min()) <= int(found.visit.max()) < int(visits.sum())
