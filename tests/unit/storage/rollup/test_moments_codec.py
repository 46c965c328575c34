"""Moments survive their blob exactly; damaged blobs are errors and nothing else."""

import tracemalloc
from dataclasses import fields, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.blobs.columns import pack_many
from storage.errors import CorruptCell
from storage.rollup import moments_codec, unpacked_moments
from storage.rollup.moments import SLOTS, Sums, add, concatenated, empty, machine_bit, machines

pytestmark = pytest.mark.slow

VALUES = st.one_of(st.integers(0, 5), st.integers(0, 300), st.integers(0, 10**9))
VISITS = st.lists(
    st.tuples(
        st.integers(1, 40),
        st.dictionaries(st.integers(1, 9), st.tuples(VALUES, VALUES), max_size=6),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=4,
)


def one_visit(machine: int, functions: dict[int, tuple[int, int]], others: int, divisor: int) -> Sums:
    """The sums of a cell with a single visit; functions have (self, what total is more)."""
    f = np.array(sorted(functions), np.int64)
    own = np.array([functions[i][0] for i in sorted(functions)], np.int64)
    total = own + np.array([functions[i][1] for i in sorted(functions)], np.int64)
    x = float(total.max(initial=1))
    bit = machine_bit(np.array([machine]))
    n, o, t = len(f), own.astype(float), total.astype(float)
    return Sums(
        np.array([divisor]), np.array([1]), bit, np.array([x]), np.array([x**2]), np.array([(x * x) * (x * x)]),
        np.array([x * (x + others)]), np.array([n]), f, np.ones(n, np.int64), np.repeat(bit, n), own, total,
        o * o, t * t, o * x, t * x, (o * o) * (o * o), (t * t) * (t * t),
    )  # fmt: skip


def cell_of(visits: list[tuple[int, dict[int, tuple[int, int]], int]], divisor: int) -> Sums:
    cell = empty(1)
    for visit in visits:
        cell = add(cell, one_visit(*visit, divisor))
    return cell


def only(sums: Sums, wanted: list[bool]) -> Sums:
    """Without the rows of other functions, one by one."""
    keep = np.array([f < len(wanted) and wanted[f] for f in sums.function.tolist()], np.bool_)
    rows = {name: getattr(sums, name)[keep] for name in ROW_COLUMNS}
    return replace(sums, count=np.bincount(sums.cell[keep], minlength=len(sums)), **rows)


ROW_COLUMNS = [field.name for field in fields(Sums)][8:]


def assert_same(a: Sums, b: Sums) -> None:
    for field in fields(Sums):
        assert getattr(a, field.name).tolist() == getattr(b, field.name).tolist(), field.name


@settings(deadline=None)
@given(st.lists(st.tuples(VISITS, st.sampled_from([1, 10, 10_101_010])), max_size=5))
def test_sums_survive(cells: list[Any]) -> None:
    sums = concatenated([cell_of(*cell) for cell in cells]) if cells else empty(0)
    assert_same(unpacked_moments.decode(moments_codec.encode(sums)), sums)


@settings(deadline=None)
@given(st.lists(st.tuples(VISITS, st.just(10)), max_size=5), st.lists(st.booleans(), max_size=12))
def test_of_wanted_functions_the_rows_are_those_of_all(cells: list[Any], wanted: list[bool]) -> None:
    sums = concatenated([cell_of(*cell) for cell in cells]) if cells else empty(0)
    assert_same(
        unpacked_moments.decode(moments_codec.encode(sums), np.array(wanted, np.bool_)), only(sums, wanted)
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(VISITS, st.sampled_from([1, 10, 10_101_010])), max_size=5),
    st.sampled_from([1, 3, 1_000_000]),
)
def test_amounts_are_those_of_all_functions(cells: list[Any], at_once: int) -> None:
    sums = concatenated([cell_of(*cell) for cell in cells]) if cells else empty(0)
    with patch.object(unpacked_moments, "_PAIRS_AT_ONCE", at_once):
        parts = list(unpacked_moments.Unpacked(moments_codec.encode(sums)).amounts())
    whole = sums.in_units()
    assert all(int(part.rows[1:].sum()) < at_once for part in parts)
    found = sorted(
        (cell, function, own * divisor, total * divisor)
        for part in parts
        for cell, divisor, function, own, total in zip(
            np.repeat(part.cell, part.rows).tolist(),
            np.repeat(part.divisor, part.rows).tolist(),
            part.function.tolist(),
            part.own.tolist(),
            part.total.tolist(),
            strict=True,
        )
    )
    columns = (whole.cell, whole.function, whole.own, whole.total)
    assert found == list(zip(*(column.tolist() for column in columns), strict=True))


@settings(deadline=None)
@given(VISITS, VISITS, st.sampled_from([(10, 10), (10, 4), (7, 3)]))
def test_what_was_added_can_be_taken_out_again(a: list[Any], b: list[Any], divisors: tuple[int, int]) -> None:
    small = [(m, {f: (own % 50, more % 50) for f, (own, more) in fs.items()}, n) for m, fs, n in b]
    first = cell_of(
        [(m, {f: (o % 50, p % 50) for f, (o, p) in fs.items()}, n) for m, fs, n in a], divisors[0]
    )
    second = cell_of(small, divisors[1])
    both = add(first, second)
    minus = {
        field.name: -getattr(second, field.name)
        for field in fields(Sums)
        if field.name not in {"divisor", "machines", "row_machines", "count", "function"}
    }
    bits = {"machines": second.machines * 0, "row_machines": second.row_machines * 0}
    left = add(both, Sums(**{**{f.name: getattr(second, f.name) for f in fields(Sums)}, **minus, **bits}))
    for field in fields(Sums):
        if field.name not in {"divisor", "machines", "row_machines"}:
            assert (
                getattr(left.in_units(), field.name).tolist()
                == getattr(first.in_units(), field.name).tolist()
            )


def test_a_cell_of_one_visit_stores_only_what_the_rest_follows_from() -> None:
    functions = {f: (f % 7, f % 90) for f in range(1, 400)}
    one = moments_codec.encode(one_visit(1, functions, 5, 10))[0]
    two = moments_codec.encode(cell_of([(1, functions, 5), (2, functions, 5)], 10))[0]
    assert len(one) < len(two) / 2


def test_a_blob_of_the_first_version_is_read_for_ever() -> None:
    """Bytes are spelled out: another layout needs another version."""
    one = bytes.fromhex(
        "01 01 02000000 0a00000000000000 0400000000000000 0000000000000840 0000000000001840 01 02 03 01 00 02 01"
    )
    sums = unpacked_moments.decode([one])
    assert (sums.divisor[0], sums.visits[0], sums.machines[0], sums.x[0], sums.xe[0]) == (10, 1, 4, 3.0, 6.0)
    assert sums.function.tolist() == [2, 5]
    assert (sums.own.tolist(), sums.total.tolist()) == ([1, 0], [3, 1])


def test_a_blob_of_a_visit_is_written_like_this_and_read_for_ever() -> None:
    one = bytes.fromhex(
        "01 01 02000000 0a00000000000000 0400000000000000 0000000000000840 0000000000001840"
        " 03  03000000 01 02 03  03000000 01 82 01"
    )
    sums = unpacked_moments.decode([one])
    assert sums.function.tolist() == [2, 5]
    assert (sums.own.tolist(), sums.total.tolist()) == ([1, 0], [3, 1])
    assert moments_codec.encode(sums) == [one]


@settings(deadline=None)
@given(st.lists(st.tuples(VISITS, st.booleans()), min_size=1, max_size=5))
def test_cells_of_either_form_are_read_side_by_side(cells: list[Any]) -> None:
    sums = concatenated([cell_of(visits, 10) for visits, _ in cells])
    now = moments_codec.encode(sums)
    with patch.object(moments_codec, "pack_functions", lambda *columns: pack_many(columns[:3], columns[3])):
        once = moments_codec.encode(sums)
    blobs = [old if as_once else new for old, new, (_, as_once) in zip(once, now, cells, strict=True)]
    assert_same(unpacked_moments.decode(blobs), sums)


@pytest.mark.parametrize("forms", [["now"], ["once"], ["now", "once"], ["once"] * 9 + ["now"]])
def test_cells_of_one_visit_take_no_more_memory_than_is_counted(forms: list[str]) -> None:
    functions = {f: (f % 3, f % 5 + 1) for f in range(1, 5000)}
    [now] = moments_codec.encode(one_visit(1, functions, 0, 1))
    with patch.object(moments_codec, "pack_functions", lambda *columns: pack_many(columns[:3], columns[3])):
        [once] = moments_codec.encode(one_visit(1, functions, 0, 1))
    cells = unpacked_moments.Unpacked(
        [{"now": now, "once": once}[form] for form in forms * (20 // len(forms))]
    )
    tracemalloc.start()
    try:
        rows = sum(len(part.function) for part in cells.amounts())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == len(functions) * len(forms) * (20 // len(forms))
    assert most <= 1.02 * cells.size  # the views of blobs come on top


@pytest.mark.parametrize("amount", [1e76, float("inf"), float("nan"), -1.0])
@pytest.mark.parametrize("name", ["x", "xx", "xxxx", "xe", "own2", "total2", "own_x", "total_x", "own4", "total4"])  # fmt: skip
def test_what_could_not_be_read_again_is_not_written(name: str, amount: float) -> None:
    sums = cell_of([(1, {1: (2, 3)}, 5), (2, {1: (1, 1)}, 5)], 10)
    getattr(sums, name)[0] = amount
    with pytest.raises(CorruptCell):
        moments_codec.encode(sums)


def test_a_single_visit_too_large_for_a_cell_is_not_written() -> None:
    """Its blob would hold x alone, and the next visit could not be added to it."""
    with pytest.raises(CorruptCell):
        moments_codec.encode(one_visit(1, {1: (6 * 10**18, 0)}, 0, 1))


@settings(deadline=None)
@given(st.binary(max_size=120))
def test_noise_is_an_error_or_a_cell(data: bytes) -> None:
    try:
        unpacked_moments.decode([data])
    except CorruptCell:
        return


@settings(deadline=None)
@given(VISITS, st.data())
def test_a_damaged_blob_is_an_error_or_another_cell(visits: list[Any], data: st.DataObject) -> None:
    blob = bytearray(moments_codec.encode(cell_of(visits, 10))[0])
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(blob)))
    for damaged in (bytes(blob), bytes(blob[:cut])):
        try:
            read = unpacked_moments.decode([damaged])
        except CorruptCell:
            continue
        assert all(
            np.isfinite(c).all() for c in (*read.cell_columns(), *read.row_columns()) if c.dtype.kind == "f"
        )


@pytest.mark.parametrize("count", [1, 5, 20, 60, 100])
def test_machines_are_told_about_up_to_a_hundred(count: int) -> None:
    errors = []
    for start in range(0, 20_000, 1000):
        bits = np.bitwise_or.reduce(machine_bit(np.arange(start, start + count)))
        errors.append(machines(np.array([bits]))[0] - count)
    assert abs(np.nanmean(errors)) <= max(0.1, 0.06 * count)
    assert np.nanstd(errors) <= 0.5 + 0.2 * count


def test_too_many_machines_are_not_told() -> None:
    assert np.isnan(machines(np.array([(1 << SLOTS) - 1]))[0])
    # One bit is left after 150 machines or after 500.
    assert np.isnan(machines(np.array([(1 << SLOTS) - 2]))[0])


@pytest.mark.parametrize("count", [300, 500, 1000])
def test_hundreds_of_machines_are_never_told_as_far_fewer(count: int) -> None:
    told = [
        machines(np.array([np.bitwise_or.reduce(machine_bit(np.arange(start, start + count)))]))[0]
        for start in range(0, 100_000, 1000)
    ]
    assert np.isnan(told).mean() >= 0.95
