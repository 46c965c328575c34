"""Rows in COPY's binary format come out as they went in."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Integer, LargeBinary, SmallInteger, Text

from storage.dictionary_sweep.stream import Batch, Gathering
from storage.ingest.copy_in import HEADER, TRAILER

Row = tuple[int, int, bytes]
ints = st.integers(-(2**31), 2**31 - 1)
rows_of_bytes = st.lists(
    st.tuples(st.integers(-(2**15), 2**15 - 1), ints, st.binary(max_size=40)), max_size=30
)


def as_copied(rows: list[bytes], alone: bool) -> list[bytes]:
    """The messages PostgreSQL sends: a row each, the header before the first one or `alone`."""
    first = [HEADER] if alone or not rows else [HEADER + rows[0]]
    return [*first, *(rows if alone else rows[1:]), TRAILER]


def gathered(types: list[Any], sent: list[bytes], batch_bytes: int) -> list[Batch]:
    batches: list[Batch] = []
    gathering = Gathering(types, batches.append, batch_bytes)
    for message in sent:
        assert gathering.write(message) == len(message)
    gathering.close()
    return batches


@given(rows_of_bytes, st.booleans(), st.integers(1, 500))
def test_every_row_comes_once(rows: list[Row], alone: bool, batch_bytes: int) -> None:
    sent = [struct.pack(">hihiii", 3, 2, small, 4, n, len(data)) + data for small, n, data in rows]
    batches = gathered([SmallInteger(), Integer(), LargeBinary()], as_copied(sent, alone), batch_bytes)
    assert [
        (int(small), int(number), blob)
        for batch in batches
        for small, number, blob in zip(batch.ints(0), batch.ints(1), batch.blobs, strict=True)
    ] == rows
    assert all(len(batch) for batch in batches)


@given(st.lists(st.tuples(ints, ints), max_size=50), st.booleans(), st.integers(1, 99))
def test_rows_of_integers_only(rows: list[tuple[int, int]], alone: bool, batch_bytes: int) -> None:
    sent = [struct.pack(">hiiii", 2, 4, a, 4, b) for a, b in rows]
    batches = gathered([Integer(), Integer()], as_copied(sent, alone), batch_bytes)
    assert [
        pair for b in batches for pair in zip(b.ints(0).tolist(), b.ints(1).tolist(), strict=True)
    ] == rows


def test_something_else_than_a_row_each_time_is_noticed() -> None:
    row = struct.pack(">hihiii", 3, 2, 0, 4, 0, 5) + bytes(5)
    with pytest.raises(AssertionError):
        gathered([SmallInteger(), Integer(), LargeBinary()], as_copied([row[:20], row[20:]], alone=False), 1)


def test_only_integers_come_before_bytes() -> None:
    with pytest.raises(TypeError):
        gathered([Text(), Integer()], [], 1)
