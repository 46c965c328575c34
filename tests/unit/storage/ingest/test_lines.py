"""The line codec: (function, line) → self, total."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.columns import pack
from storage.blobs.fact_blobs import Lines, decode_lines, encode_lines
from storage.blobs.small_numbers import pack_amounts, pack_jumps
from storage.errors import CorruptChunk

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


@pytest.mark.slow
@given(st.lists(tables, max_size=5))
def test_lines_survive(parts: list[Rows]) -> None:
    whole = decode_lines([encode_lines(lines_of(rows)) for rows in parts], [len(rows) for rows in parts])
    assert rows_of(whole) == [row for rows in parts for row in rows_of(lines_of(rows))]


def in_columns(lines: Lines) -> bytes:
    """As every blob was written once."""
    steps, within = (column.astype(np.int64) for column in (lines.function, lines.line))
    same = np.diff(steps, prepend=-1) == 0
    steps, within = np.diff(steps, prepend=0), within.copy()
    within[same] -= np.roll(lines.line.astype(np.int64), 1)[same]
    return pack([steps, within, lines.self_samples, lines.total_samples - lines.self_samples])


@pytest.mark.slow
@given(st.lists(st.tuples(tables, st.booleans()), max_size=6))
def test_blobs_of_either_form_are_read_side_by_side(parts: list[tuple[Rows, bool]]) -> None:
    blobs = [(in_columns if once else encode_lines)(lines_of(rows)) for rows, once in parts]
    whole = decode_lines(blobs, [len(rows) for rows, _ in parts])
    assert rows_of(whole) == [row for rows, _ in parts for row in rows_of(lines_of(rows))]


@given(tables, st.data())
def test_damage_is_an_error_or_other_lines_but_never_a_crash(rows: Rows, data: st.DataObject) -> None:
    blob = bytearray(encode_lines(lines_of(rows)))
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    try:
        whole = decode_lines([bytes(blob[: data.draw(st.integers(0, len(blob)))])], [len(rows)])
    except CorruptChunk:
        return
    assert len(whole.line) == len(rows)
    assert all(0 <= own <= total for *_, own, total in rows_of(whole))


def test_lines_are_smaller_than_their_four_columns() -> None:
    random = np.random.default_rng(1)
    function = 1 + np.cumsum(random.geometric(0.01, 2000))
    own = random.geometric(0.8, 2000) - 1
    line = 10 + random.integers(0, 2000, 2000)
    lines = Lines(function.astype(np.int32), line.astype(np.int32), own, own + random.geometric(0.4, 2000))
    assert len(encode_lines(lines)) < 0.85 * len(in_columns(lines))


def test_unsorted_lines_are_not_written() -> None:
    with pytest.raises(ValueError, match="sorted"):
        encode_lines(lines_of([((2, 1), (1, 1)), ((1, 1), (1, 1))]))


def test_a_total_below_self_is_not_written() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        encode_lines(Lines(np.array([1]), np.array([1]), np.array([2]), np.array([1])))


@pytest.mark.parametrize("now", [True, False])
def test_a_total_beyond_63_bits_is_damage(now: bool) -> None:
    """Either amount fits."""
    most = np.array([2**62])
    columns = [np.array([1]), np.array([1]), most, most]
    one = np.array([1])
    apart = b"".join((b"\3", *pack_jumps(one, one), *pack_jumps(one, one), *pack_amounts(most, most, one)))
    with pytest.raises(CorruptChunk, match="63 bits"):
        decode_lines([apart if now else pack(columns)], [1])


def test_functions_that_go_round_are_damage() -> None:
    columns = [np.array(column) for column in ([1, 2**63 - 1], [1, 1], [1, 1], [1, 1])]
    with pytest.raises(CorruptChunk, match="31 bits"):
        decode_lines([pack(columns)], [2])


def test_functions_beyond_31_bits_are_damage() -> None:
    columns = [np.array(column) for column in ([2**31], [1], [1], [1])]
    with pytest.raises(CorruptChunk, match="31 bits"):
        decode_lines([pack(columns)], [1])
