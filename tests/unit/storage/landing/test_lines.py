"""The line codec: (function, line) → self, total."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.landing.columns import pack
from storage.landing.errors import CorruptChunk
from storage.landing.lines import Lines, decode_lines, encode_lines

Rows = list[tuple[tuple[int, int], tuple[int, int]]]
tables = st.dictionaries(
    st.tuples(
        st.integers(1, 2**31 - 1) | st.integers(1, 20), st.integers(0, 2**31 - 1) | st.integers(0, 900)
    ),
    st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)),
    max_size=40,
).map(lambda rows: sorted(rows.items()))


def lines_of(rows: Rows) -> Lines:
    return Lines(
        np.array([f for (f, _), _ in rows], np.int32),
        np.array([line for (_, line), _ in rows], np.int32),
        np.array([own for _, (own, _) in rows], np.int64),
        np.array([own + rest for _, (own, rest) in rows], np.int64),
    )


def rows_of(lines: Lines) -> list[tuple[int, ...]]:
    columns = (lines.function, lines.line, lines.self_samples, lines.total_samples)
    return list(zip(*(c.tolist() for c in columns), strict=True))


@given(st.lists(tables, max_size=5))
def test_lines_survive(parts: list[Rows]) -> None:
    whole = decode_lines([encode_lines(lines_of(rows)) for rows in parts], [len(rows) for rows in parts])
    assert rows_of(whole) == [row for rows in parts for row in rows_of(lines_of(rows))]


def test_unsorted_lines_are_not_written() -> None:
    with pytest.raises(ValueError, match="sorted"):
        encode_lines(lines_of([((2, 1), (1, 1)), ((1, 1), (1, 1))]))


def test_a_total_below_self_is_not_written() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        encode_lines(Lines(np.array([1]), np.array([1]), np.array([2]), np.array([1])))


def test_functions_beyond_31_bits_are_damage() -> None:
    columns = [np.array(column) for column in ([2**31], [1], [1], [1])]
    with pytest.raises(CorruptChunk, match="31 bits"):
        decode_lines([pack(columns)], [1])
