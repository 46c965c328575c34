"""Weighted moments survive their blob to six digits; damage is an error."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import CorruptCell
from storage.rollup import long_moments, long_moments_codec
from storage.rollup.long_moments import Parts

AMOUNT = st.floats(0, 1e20, allow_subnormal=False)
SIGNED = st.floats(-1e30, 1e30, allow_subnormal=False)
EXACT = {"machines", "ingested", "df", "x", "vxx", "vxe", "x_second", "x_fourth", "count", "function", "visits", "row_machines", "own", "total", "own_units", "total_units"}  # fmt: skip
UNITS = st.one_of(
    st.integers(0, 300), st.integers(0, 10**6).map(lambda n: n * 10_101_010), st.integers(0, 2**60)
)
ROWS = st.dictionaries(
    st.integers(1, 2**31 - 1),
    st.tuples(st.integers(0, 1000), st.integers(0, 2**62 - 1), AMOUNT, AMOUNT, *[SIGNED] * 8, UNITS, UNITS),
    max_size=5,
)
CELLS = st.lists(st.tuples(st.integers(0, 2**62 - 1), st.tuples(*[AMOUNT] * 7), ROWS), max_size=4)


def parts_of(cells: list[Any]) -> Parts:
    """The last two of each row are observed units, self and what total is more."""
    rows = [(f, *values) for cell in cells for f, values in sorted(cell[2].items())]
    columns = [np.array([row[i] for row in rows]) for i in range(13)]
    own = np.array([row[13] for row in rows], np.int64)
    more = np.array([row[14] for row in rows], np.int64)
    scalars = [np.array([cell[1][i] for cell in cells]) for i in range(7)]
    arguments: list[Any] = [np.array([cell[0] for cell in cells], np.int64), *scalars]
    arguments.append(np.array([len(cell[2]) for cell in cells], np.int64))
    arguments += [column.astype(np.int64) for column in columns[:3]]
    arguments += [column.astype(np.float64) for column in columns[3:]]
    arguments += [own, own + more]
    return Parts(*arguments)


@pytest.mark.slow
@given(CELLS)
def test_parts_survive(cells: list[Any]) -> None:
    parts = parts_of(cells)
    read = long_moments_codec.decode(long_moments_codec.encode(parts))
    for field in fields(Parts):
        found, wanted = getattr(read, field.name), getattr(parts, field.name)
        if field.name in EXACT:
            assert found.tolist() == wanted.tolist(), field.name
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-70)


@given(CELLS, st.lists(st.integers(0, 4)))
def test_of_wanted_functions_the_rows_are_those_of_all(cells: list[Any], left_out: list[int]) -> None:
    # Ids go up to 2³¹: numbered anew, so that a table of all can be had.
    ids = sorted({function for cell in cells for function in cell[2]})
    small = [(*cell[:2], {ids.index(f) + 1: v for f, v in cell[2].items()}) for cell in cells]
    fewer = [(*cell[:2], {f: values for f, values in cell[2].items() if f not in left_out}) for cell in small]
    wanted = np.array([f not in left_out for f in range(len(ids) + 1)])
    read = long_moments_codec.decode(long_moments_codec.encode(parts_of(small)), wanted)
    expected = long_moments_codec.decode(long_moments_codec.encode(parts_of(fewer)))
    for field in fields(Parts):
        assert getattr(read, field.name).tolist() == getattr(expected, field.name).tolist(), field.name


@given(CELLS)
def test_first_sums_are_those_of_everything(cells: list[Any]) -> None:
    parts = parts_of(cells)
    found = long_moments_codec.WeightedMoments(long_moments_codec.encode(parts)).amounts()
    for name in ("function", "own_units", "total_units", "own", "total"):
        assert getattr(found, name).tolist() == getattr(parts, name).tolist(), name


def test_observed_units_that_are_multiples_of_one_another_take_little() -> None:
    def size(unit: int) -> int:
        rows = {f: (1, 1, 2.0, 3.0, *[0.0] * 8, unit * f, unit) for f in range(1, 101)}
        return len(long_moments_codec.encode(parts_of([(1, (1.0,) * 7, rows)]))[0])

    assert size(10_101_010) == size(1)


@given(CELLS)
def test_adding_up_in_parts_is_adding_up_at_once(cells: list[Any]) -> None:
    parts = parts_of(cells)
    into = np.arange(len(cells)) % 2
    at_once = long_moments.add_up(parts, into, 2)
    singles = [long_moments.add_up(parts_of([cell]), into[i : i + 1], 2) for i, cell in enumerate(cells)]
    if not singles:
        return
    twice = long_moments.add_up(long_moments.concatenated(singles), np.tile([0, 1], len(singles)), 2)
    for field in fields(Parts):
        np.testing.assert_allclose(
            getattr(twice, field.name), getattr(at_once, field.name), rtol=1e-9, atol=1e20, err_msg=field.name
        )


@given(st.lists(st.lists(st.floats(0, 1e300), max_size=20), max_size=4))
def test_doubles_survive(cells: list[list[float]]) -> None:
    count = np.array([len(cell) for cell in cells], np.int64)
    flat = np.array([value for cell in cells for value in cell])
    assert (
        long_moments_codec.decode_doubles(long_moments_codec.encode_doubles(flat, count), count).tolist()
        == flat.tolist()
    )


@given(CELLS.filter(bool), st.data())
def test_a_damaged_blob_is_an_error_or_another_cell(cells: list[Any], data: st.DataObject) -> None:
    blob = bytearray(long_moments_codec.encode(parts_of(cells[:1]))[0])
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(blob)))
    for damaged in (bytes(blob), bytes(blob[:cut])):
        try:
            read = long_moments_codec.decode([damaged])
        except CorruptCell:
            continue
        assert np.isfinite(read.own).all()


def test_doubles_of_another_length_are_damage() -> None:
    blob = long_moments_codec.encode_doubles(np.ones(3), np.array([3]))[0]
    with pytest.raises(CorruptCell):
        long_moments_codec.decode_doubles([blob], np.array([4]))
