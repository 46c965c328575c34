"""Rows in COPY's binary format, cut anywhere, come out as they went in."""

import itertools
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import ARRAY, Integer, LargeBinary, SmallInteger, Text

from storage.dictionary_sweep.stream import Batch, Gathering, array_elements
from storage.landing.copying import HEADER, TRAILER

Row = tuple[int, int, bytes]
ints = st.integers(-(2**31), 2**31 - 1)
rows_of_bytes = st.lists(
    st.tuples(st.integers(-(2**15), 2**15 - 1), ints, st.binary(max_size=40)), max_size=30
)


def as_copied(rows: list[Row]) -> bytes:
    """(int2, int4, bytea) as PostgreSQL sends them."""
    packed = [
        struct.pack(">hihiii", 3, 2, small, 4, number, len(data)) + data for small, number, data in rows
    ]
    return HEADER + b"".join(packed) + TRAILER


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(bounds)]


def gathered(types: list[Any], sent: list[bytes], batch_bytes: int) -> list[Batch]:
    batches: list[Batch] = []
    gathering = Gathering(types, batches.append, batch_bytes)
    for piece in sent:
        gathering.write(piece)
    gathering.close()
    return batches


@given(rows_of_bytes, st.lists(st.integers(0, 10_000), max_size=20), st.integers(1, 500))
def test_every_row_comes_once_whatever_the_pieces(rows: list[Row], cuts: list[int], batch_bytes: int) -> None:
    sent = pieces(as_copied(rows), cuts)
    batches = gathered([SmallInteger(), Integer(), LargeBinary()], sent, batch_bytes)
    assert [
        (int(small), int(number), bytes(blob))
        for batch in batches
        for small, number, blob in zip(batch.ints(0), batch.ints(1), batch.blobs, strict=True)
    ] == rows
    assert all(len(batch) for batch in batches)


@given(st.lists(st.tuples(ints, ints), max_size=50), st.lists(st.integers(0, 1000)), st.integers(1, 99))
def test_rows_of_integers_only(rows: list[tuple[int, int]], cuts: list[int], batch_bytes: int) -> None:
    data = HEADER + b"".join(struct.pack(">hiiii", 2, 4, a, 4, b) for a, b in rows) + TRAILER
    batches = gathered([Integer(), Integer()], pieces(data, cuts), batch_bytes)
    assert [
        pair for b in batches for pair in zip(b.ints(0).tolist(), b.ints(1).tolist(), strict=True)
    ] == rows


@given(st.lists(st.lists(ints, max_size=9), max_size=20))
def test_elements_of_arrays(arrays: list[list[int]]) -> None:
    blobs = [
        struct.pack(">iii", 0, 0, 23)
        if not array
        else struct.pack(">iiiii", 1, 0, 23, len(array), 1)
        + b"".join(struct.pack(">ii", 4, e) for e in array)
        for array in arrays
    ]
    assert array_elements([memoryview(blob) for blob in blobs]).tolist() == [e for a in arrays for e in a]


def test_arrays_count_as_bytes_and_nothing_else_does() -> None:
    [batch] = gathered(
        [ARRAY(Integer())], [HEADER + struct.pack(">hi", 1, 12) + bytes(8) + b"\0\0\0\x17" + TRAILER], 1
    )
    assert np.array_equal(array_elements(batch.blobs), [])
    with pytest.raises(TypeError):
        gathered([Text(), Integer()], [], 1)
