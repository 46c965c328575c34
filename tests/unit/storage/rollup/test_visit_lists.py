"""Cells that keep their visits: sums, adding and taking out, and their blob, against plain loops."""

import random
import struct
from collections import Counter
from dataclasses import fields, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.blobs.columns import pack, pack_bytes
from storage.blobs.small_numbers import pack_amounts
from storage.errors import CorruptCell
from storage.rollup import cell_moments, moments, moments_codec, unpacked_moments, visit_list_codec
from storage.rollup.moments import Sums, machine_bit
from storage.rollup.visit_lists import MOST_VISITS, VisitLists, add, concatenated

AMOUNTS = st.one_of(st.integers(0, 3), st.integers(0, 300), st.integers(0, 1 << 40))
VISIT = st.tuples(
    st.integers(1, 60),
    st.dictionaries(st.integers(1, 9), st.tuples(AMOUNTS, AMOUNTS), max_size=5),
    st.integers(0, 1000),
)
"""(machine, function → (self, what total is more), others' units)"""
CELL = st.lists(VISIT, min_size=1, max_size=6)
DIVISORS = st.sampled_from([1, 4, 10, 10_101_010 // 1010])


def none(cells: int) -> VisitLists:
    """So many cells without visits; any divisor divides their 0."""
    nothing = np.zeros(0, np.int64)
    return VisitLists(np.zeros(cells, np.int64), *(nothing,) * 9)


def cell_of(visits: list[Any], divisor: int = 1, sign: int = 1) -> VisitLists:
    pairs = sorted(
        (f, v, own, max(own + more, 1))
        for v, (_, functions, _) in enumerate(visits)
        for f, (own, more) in functions.items()
    )
    columns = np.array(pairs, np.int64).reshape(-1, 4).T
    x = np.array([sum(max(o + m, 1) for o, m in fs.values()) + 1 for _, fs, _ in visits], np.int64)
    bits = machine_bit(np.array([m for m, _, _ in visits]))
    n = len(visits)
    return VisitLists(
        np.array([divisor]), np.zeros(n, np.int64), np.full(n, sign), bits if sign > 0 else bits * 0, x,
        x + np.array([others for *_, others in visits], np.int64), columns[1], columns[0], columns[2], columns[3],
    )  # fmt: skip


def joined(cells: list[VisitLists]) -> VisitLists:
    lists = none(0)
    for cell in cells:
        lists = concatenated(lists, cell)
    return lists


def assert_same(a: Any, b: Any) -> None:
    for field in fields(a):
        assert getattr(a, field.name).tolist() == getattr(b, field.name).tolist(), field.name


def in_units(lists: VisitLists) -> VisitLists:
    return lists.in_multiples_of(np.ones_like(lists.divisor))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(CELL, DIVISORS), max_size=4))
def test_visits_survive_their_blob(cells: list[Any]) -> None:
    lists = joined([cell_of(*cell) for cell in cells])
    assert_same(visit_list_codec.decode(visit_list_codec.encode(lists), lists.pairs, lists.divisor), lists)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(CELL, DIVISORS), max_size=6), st.integers(0, 12))
def test_portions_are_all_of_it_in_order(cells: list[Any], most: int) -> None:
    lists = joined([cell_of(*cell) for cell in cells])
    parts = list(lists.portions(most))
    assert_same(joined([part for *_, part in parts]), lists)
    assert [cell for low, high, _ in parts for cell in range(low, high)] == list(range(len(lists)))
    for low, high, part in parts:
        assert len(part) == high - low
        assert int(part.pairs[1:].sum()) < max(most, 1)


@settings(deadline=None)
@given(CELL, DIVISORS)
def test_sums_are_those_of_a_loop(visits: list[Any], divisor: int) -> None:
    lists = cell_of(visits, divisor)
    found = lists.sums()
    x = lists.x.tolist()
    assert (found.x[0], found.visits[0]) == (sum(x), len(visits))
    assert found.xx[0] == pytest.approx(sum(v * v for v in x), rel=1e-14)
    assert found.xe[0] == pytest.approx(
        sum(v * e for v, e in zip(x, lists.event.tolist(), strict=True)), rel=1e-14
    )
    wanted: Counter[tuple[str, int]] = Counter()
    for v, (_, functions, _) in enumerate(visits):
        for f, (own, more) in functions.items():
            total = max(own + more, 1)
            for name, value in (
                ("row_visits", 1), ("own", own), ("total", total), ("own2", own**2), ("total2", total**2),
                ("own_x", own * x[v]), ("total_x", total * x[v]), ("own4", own**4), ("total4", total**4),
            ):  # fmt: skip
                wanted[name, f] += value
    assert found.function.tolist() == sorted({f for _, f in wanted})
    for name in {name for name, _ in wanted}:
        values = [wanted[name, f] for f in found.function.tolist()]
        assert getattr(found, name).tolist() == pytest.approx(values, rel=1e-14), name


@settings(deadline=None)
@given(CELL, CELL, st.tuples(DIVISORS, DIVISORS))
def test_what_was_added_can_be_taken_out_again(a: list[Any], b: list[Any], divisors: tuple[int, int]) -> None:
    both, lacking = add(cell_of(a, divisors[0]), cell_of(b, divisors[1]))
    assert not lacking.any()
    left, lacking = add(both, cell_of(b, divisors[1], sign=-1))
    assert not lacking.any()
    want = in_units(cell_of(a, divisors[0]))
    # Of two visits that brought the same either may be the one that went.
    mine, wanted = in_units(left).sums(), want.sums()
    for field in fields(Sums):
        if field.name not in {"machines", "row_machines"}:
            values = getattr(wanted, field.name).tolist()
            assert getattr(mine, field.name).tolist() == pytest.approx(values, rel=1e-13), field.name


@settings(deadline=None)
@given(CELL, VISIT)
def test_what_is_not_there_cannot_be_taken_out(visits: list[Any], other: Any) -> None:
    other = (other[0], other[1] | {10: (1, 2)}, other[2])
    _, lacking = add(cell_of(visits), cell_of([other], sign=-1))
    assert lacking.tolist() == [True]


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(CELL, min_size=1, max_size=5), st.data())
def test_cells_become_fewer(cells: list[Any], data: st.DataObject) -> None:
    lists = joined([cell_of(cell, data.draw(DIVISORS)) for cell in cells])
    into = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(cells), max_size=len(cells))))
    merged = in_units(lists.into(into, 2))
    units = in_units(lists)
    for target in (0, 1):
        one = merged.of(np.array([target]))
        wanted = none(1)
        for i in np.flatnonzero(into == target).tolist():
            wanted, _ = add(wanted, units.of(np.array([i])))
        if len(wanted.cell):
            assert_same(replace(one, divisor=np.ones(1, np.int64)), wanted)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(CELL, st.sampled_from([1, 4, 10]), st.booleans()), min_size=1, max_size=5),
    st.lists(st.integers(0, 1), min_size=5, max_size=5),
)
def test_cells_that_become_fewer_say_the_same_as_lists_as_sums_and_mixed(
    cells: list[Any], into: list[int]
) -> None:
    lists = joined([cell_of(visits, divisor) for visits, divisor, _ in cells])
    place = np.array(into[: len(cells)])
    wanted = lists.into(place, 2).sums()
    as_lists = cell_moments.encode_lists(lists)
    as_sums = moments_codec.encode(lists.sums())
    mixed = [as_sums[i] if summed else as_lists[i] for i, (*_, summed) in enumerate(cells)]
    assert_same_sums(moments.into(lists.sums(), place, 2), wanted)
    for blobs in (as_lists, as_sums, mixed):
        # A cell into which none goes has nothing to be written.
        there = np.unique(place)
        merged = cell_moments.merged(blobs, np.searchsorted(there, place), len(there))
        assert_same_sums(unpacked_moments.decode(merged), wanted.of(there))
    one_by_one = joined([none(1)] * 2)
    for i, target in enumerate(place.tolist()):
        gained = [none(1), none(1)]
        gained[target] = lists.of(np.array([i]))
        one_by_one, _ = add(one_by_one, joined(gained))
    assert_same_sums(one_by_one.sums(), wanted)


def assert_same_sums(found: Sums, wanted: Sums) -> None:
    found, wanted = in_units_of_1(found), in_units_of_1(wanted)
    for field in fields(Sums):
        values = getattr(wanted, field.name).tolist()
        assert getattr(found, field.name).tolist() == pytest.approx(values, rel=1e-13), field.name


def in_units_of_1(sums: Sums) -> Sums:
    """As `in_units`, where a cell without visits has no divisor."""
    return replace(sums, divisor=np.maximum(sums.divisor, 1)).in_units()


@pytest.mark.slow
@settings(deadline=None)
@given(CELL, CELL)
def test_a_cell_is_the_same_as_lists_and_as_sums(a: list[Any], b: list[Any]) -> None:
    """What the store holds, whichever way a cell grew."""
    [grown], _ = cell_moments.add(cell_moments.add([None], cell_of(a))[0], cell_of(b))
    [summed], _ = cell_moments.add(moments_codec.encode(cell_of(a).sums()), cell_of(b))
    found, wanted = unpacked_moments.decode([grown]), unpacked_moments.decode([summed])
    for field in fields(Sums):
        values = getattr(found, field.name).tolist()
        assert values == pytest.approx(getattr(wanted, field.name).tolist(), rel=1e-13), field.name


def test_a_cell_of_many_visits_keeps_sums() -> None:
    visits = [(m % 60, {1: (0, 3), 2: (1, m % 4)}, 5) for m in range(MOST_VISITS + 1)]
    [few], _ = cell_moments.add([None], cell_of(visits[:4]))
    [many], _ = cell_moments.add([few], cell_of(visits[4:]))
    assert cell_moments.keeps_visits(few)
    assert not cell_moments.keeps_visits(many)
    [less], lacking = cell_moments.add([many], cell_of(visits[4:], sign=-1))
    assert not lacking.any()
    assert unpacked_moments.decode([less]).total.tolist() == cell_of(visits[:4]).sums().total.tolist()


def test_lists_are_smaller_than_sums_where_few_visits_have_a_function() -> None:
    few = random.Random(1)
    visits = [
        (
            m,
            {
                f: (few.choice([0, 0, 0, 1]), few.choice([0, 1, 2, 9]))
                for f in range(1, 400)
                if few.random() < 0.5
            },
            50,
        )
        for m in range(1, 6)
    ]
    lists = cell_of(visits)
    assert len(cell_moments.encode_lists(lists)[0]) < len(moments_codec.encode(lists.sums())[0]) / 2


def test_many_cells_are_decoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = joined(
        [
            cell_of([(m, {n: (1, m)}, 5), (m + 1, {n: (0, 2), 3: (1, 1)}, 5)])
            for m in (1, 9)
            for n in range(4, 9)
        ]
    )
    blobs = cell_moments.encode_lists(cells)
    whole = unpacked_moments.decode(blobs)
    for pairs in (1, 4, 7):
        monkeypatch.setattr(unpacked_moments, "_PAIRS_AT_ONCE", pairs)
        assert_same(unpacked_moments.decode(blobs), whole)


def test_of_wanted_functions_the_rows_are_those_of_all() -> None:
    cells = joined(
        [cell_of([(m, dict.fromkeys(range(m, 9), (1, m)), 5), (7, {3: (2, 4)}, 5)]) for m in (1, 4, 6)]
    )
    blobs = cell_moments.encode_lists(cells)
    assert blobs[0][1] == visit_list_codec.KIND
    whole = unpacked_moments.decode(blobs)
    for wanted in ([3], [4, 5, 8], [], [1, 2, 3, 4, 5, 6, 7, 8]):
        found = unpacked_moments.decode(blobs, np.isin(np.arange(9), wanted))
        keep = np.isin(whole.function, wanted)
        assert found.x.tolist() == whole.x.tolist()
        assert found.cell.tolist() == whole.cell[keep].tolist()
        assert [c.tolist() for c in found.row_columns()] == [c[keep].tolist() for c in whole.row_columns()]


def test_moments_that_are_lacking_are_damage_and_no_new_cell() -> None:
    with pytest.raises(CorruptCell):
        cell_moments.add([b""], cell_of([(1, {1: (1, 1)}, 1)]))


@pytest.mark.parametrize("column", ["x", "event", "own", "total"])
@pytest.mark.parametrize("amount", [-1, 1 << 60])
def test_what_could_not_be_read_again_is_not_written(column: str, amount: int) -> None:
    lists = cell_of([(1, {1: (2, 3)}, 5), (2, {1: (1, 1)}, 5)])
    getattr(lists, column)[0] = amount
    with pytest.raises(CorruptCell):
        cell_moments.encode_lists(lists)


@settings(deadline=None)
@given(CELL, st.data())
def test_a_damaged_blob_is_an_error_or_another_cell(visits: list[Any], data: st.DataObject) -> None:
    blob = bytearray(cell_moments.encode_lists(cell_of([*visits, visits[0]]))[0])
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(blob)))
    for damaged in (bytes(blob), bytes(blob[:cut])):
        for read in (lambda b: unpacked_moments.decode([b]), lambda b: cell_moments.add([b], none(1))):
            try:
                read(damaged)
            except CorruptCell:
                continue


COUNTS = st.one_of(st.integers(0, 4), st.sampled_from([8, 9, MOST_VISITS, MOST_VISITS + 1]))


@st.composite
def forged(draw: st.DrawFn) -> bytes:
    """A blob whose parts are as long as its numbers say, whatever these are, but one now and then."""
    visits, rows, functions = draw(COUNTS), draw(COUNTS), draw(COUNTS)
    one = np.ones(visits, np.int64)
    of_visits = pack([one, one * draw(st.integers(0, 9)), one])
    steps = draw(st.lists(st.integers(0, 3), min_size=functions, max_size=functions))
    masks = draw(st.sampled_from([b"\0", b"\1", b"\3", b"\xff"])) * (functions * ((visits + 7) // 8))
    bits = pack_bytes(np.frombuffer(masks, np.uint8), np.array([len(masks)]))[0]
    amounts = np.zeros(rows, np.int64), np.ones(rows, np.int64)
    said = draw(st.one_of(st.just(functions), st.sampled_from([200_000_000, (1 << 32) - 1])))
    packed = pack([np.array(steps, np.int64)])
    pairs = struct.pack("<BIII", 3, said, len(packed), len(bits)) + packed + bits
    pairs += pack_amounts(*amounts, np.array([rows]))[0]
    if draw(st.booleans()):
        pairs = pack(
            [np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))] * 2 + [*amounts]
        )
    head = moments_codec.HEAD.pack(moments_codec.VERSION, visit_list_codec.KIND, rows, 1)
    return head + struct.pack("<IqddddI", visits, 1, 1.0, 1.0, 1.0, 1.0, len(of_visits)) + of_visits + pairs


@settings(deadline=None)
@given(forged())
def test_a_forged_blob_is_an_error_or_a_cell(blob: bytes) -> None:
    try:
        lists = cell_moments.decode_lists([blob])
    except CorruptCell:
        with pytest.raises(CorruptCell):
            unpacked_moments.decode([blob])
        return
    assert 1 <= len(lists.cell) <= MOST_VISITS
    assert unpacked_moments.decode([blob]).visits.tolist() == [len(lists.cell)]


@pytest.mark.parametrize("visits", [0, MOST_VISITS + 1, (1 << 32) - 1])
def test_so_many_visits_are_refused_before_they_are_unpacked(visits: int) -> None:
    blob = bytearray(cell_moments.encode_lists(cell_of([(1, {1: (1, 1)}, 1), (2, {1: (1, 1)}, 1)]))[0])
    assert struct.unpack_from("<I", blob, moments_codec.HEAD.size) == (2,)
    struct.pack_into("<I", blob, moments_codec.HEAD.size, visits)
    with (
        patch.object(visit_list_codec, "unpack", side_effect=AssertionError),
        pytest.raises(CorruptCell, match="visits"),
    ):
        unpacked_moments.decode([bytes(blob)])


def test_more_visits_than_are_read_are_not_written() -> None:
    with pytest.raises(CorruptCell, match="visits"):
        visit_list_codec.encode(cell_of([(1, {1: (1, 1)}, 1)] * (MOST_VISITS + 1)))


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(CELL, DIVISORS), max_size=4), st.sampled_from([1, 3, 1_000_000]))
def test_amounts_of_blobs_that_keep_visits_add_up_to_their_sums(cells: list[Any], at_once: int) -> None:
    lists = joined([cell_of(*cell) for cell in cells])
    added: Counter[Any] = Counter()
    with patch.object(unpacked_moments, "_PAIRS_AT_ONCE", at_once):
        parts = list(unpacked_moments.Unpacked(cell_moments.encode_lists(lists)).amounts())
    for part in parts:
        columns = (np.repeat(part.cell, part.rows), part.function, np.repeat(part.divisor, part.rows))
        for cell, function, divisor, own, total in zip(
            *(column.tolist() for column in (*columns, part.own, part.total)), strict=True
        ):
            added[cell, function, "own"] += own * divisor
            added[cell, function, "total"] += total * divisor
    sums = in_units(lists).sums()
    wanted: Counter[Any] = Counter()
    for cell, function, own, total in zip(
        sums.cell.tolist(), sums.function.tolist(), sums.own.tolist(), sums.total.tolist(), strict=True
    ):
        wanted[cell, function, "own"] += own
        wanted[cell, function, "total"] += total
    assert added == wanted
