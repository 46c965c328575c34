"""Columns of integers: what goes in comes out, and damage is said to be damage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.columns import pack, pack_many, unpack
from storage.errors import CorruptChunk

integers = st.one_of(
    st.integers(0, 300),
    st.integers(65_000, 66_000),
    st.sampled_from([254, 255, 65_534, 65_535, 2**63 - 1]),
    st.integers(0, 2**63 - 1),
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(st.tuples(*[integers] * width), max_size=40), max_size=6).map(
        lambda rows: (width, rows)
    )
)


def columns_of(rows: list[tuple[int, ...]], width: int) -> list[np.ndarray]:
    return [np.array([row[c] for row in rows], np.int64) for c in range(width)]


@given(tables)
def test_many_blobs_are_read_as_one_table(table: tuple[int, list[list[tuple[int, ...]]]]) -> None:
    width, parts = table
    blobs = [pack(columns_of(rows, width)) for rows in parts]
    read = unpack(blobs, np.array([len(rows) for rows in parts], np.int64), width)
    flat = [row for rows in parts for row in rows]
    assert [column.tolist() for column in read] == [column.tolist() for column in columns_of(flat, width)]


@pytest.mark.slow
@given(tables)
def test_packing_many_is_packing_each(table: tuple[int, list[list[tuple[int, ...]]]]) -> None:
    width, parts = table
    flat = [row for rows in parts for row in rows]
    blobs = pack_many(columns_of(flat, width), np.array([len(rows) for rows in parts], np.int64))
    assert blobs == [pack(columns_of(rows, width)) for rows in parts]


def test_a_memoryview_is_as_good_as_bytes() -> None:
    blob = pack([np.arange(1000) % 7])
    assert unpack([memoryview(blob)], np.array([1000]), 1)[0].tolist() == (np.arange(1000) % 7).tolist()


def test_small_integers_cost_less_than_a_byte_each() -> None:
    assert len(pack([np.arange(10_000) % 3])) < 2_000


def test_negative_integers_are_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        pack([np.array([1, -1])])


@given(st.lists(integers, max_size=40), st.data())
def test_damage_is_an_error_or_another_table_but_never_a_crash(
    values: list[int], data: st.DataObject
) -> None:
    """Without a checksum a flipped bit in a value reads as another value; everything else is CorruptChunk."""
    blob = bytearray(pack([np.array(values, np.int64)]))
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = unpack([bytes(blob)], np.array([len(values)]), 1)
    except CorruptChunk:
        return
    assert len(read[0]) == len(values)


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x00",
        b"\x07abc",
        b"\x02",
        b"\x02not zstd",
        b"\x01\x00",
        b"\x01\xff\xff\xff",
        b"\x01\x00\x00\xff\xfe\x00",  # 254 in the 16-bit list
        b"\x01\x00\x00\xff\xff\xff" + (65_534).to_bytes(8, "little"),  # and 65534 in the last one
        b"\x01\x00\x00\xff\xff\xff" + (1 << 63).to_bytes(8, "little"),
        b"\x01\x00\x00\x00\x00",
    ],
)
def test_what_is_no_blob_of_three_rows_is_refused(blob: bytes) -> None:
    with pytest.raises(CorruptChunk):
        unpack([blob], np.array([3]), 1)


def test_a_blob_that_claims_to_be_huge_is_refused_before_memory_is_taken() -> None:
    blob = pack([np.zeros(50_000_000, np.int64)])
    assert len(blob) < 10_000
    with pytest.raises(CorruptChunk, match="claims 50000000 bytes"):
        unpack([blob], np.array([10]), 1)


@pytest.mark.parametrize("rows", [(1, 2, 3), (700, 0, 900), (5000, 1, 1, 1)])
def test_few_long_blobs_are_read_like_many_short_ones(rows: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    counts = np.array(rows, np.int64)
    bits = rng.choice([4, 12, 40], counts.sum())  # numbers of each width
    columns = [rng.integers(0, np.left_shift(1, bits)) for _ in range(3)]
    found = unpack(pack_many(columns, counts), counts, 3)
    assert [column.tolist() for column in found] == [column.tolist() for column in columns]
