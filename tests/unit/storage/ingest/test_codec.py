"""The chunk codec: exact for counts and units, stable over versions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.fact_blobs import decode_many, encode
from storage.errors import CorruptChunk

chunks = st.dictionaries(
    st.one_of(st.integers(1, 600), st.integers(1, 2**31 - 1)),
    st.one_of(st.integers(1, 300), st.integers(1, 2**62)),
    max_size=50,
).map(lambda facts: sorted(facts.items()))


def encoded(facts: list[tuple[int, int]], unit: int = 1) -> bytes:
    return encode([i for i, _ in facts], [v * unit for _, v in facts])


@given(st.lists(chunks, max_size=6))
def test_facts_survive(many: list[list[tuple[int, int]]]) -> None:
    ids, values = decode_many([encoded(facts) for facts in many], [len(facts) for facts in many])
    assert list(zip(ids.tolist(), values.tolist(), strict=True)) == [fact for facts in many for fact in facts]


@given(chunks, st.integers(1, 2**40))
def test_scaled_values_survive_beside_plain_ones(facts: list[tuple[int, int]], unit: int) -> None:
    facts = [(i, v % 1000 + 1) for i, v in facts]
    ids, values = decode_many([encoded(facts), encoded(facts, unit)], [len(facts)] * 2)
    n = len(facts)
    assert ids[:n].tolist() == ids[n:].tolist()
    assert (values[:n] * unit).tolist() == values[n:].tolist()


def test_a_cell_of_nanoseconds_is_as_small_as_one_of_counts() -> None:
    ids = np.arange(1, 2001)
    counts = ids % 90 + 1
    assert len(encode(ids, counts * 10_101_010)) <= len(encode(ids, counts)) + 8


def test_chunks_written_by_the_first_version_are_read_for_ever() -> None:
    """Bytes are spelled out: changing the format without a new format byte fails here."""
    stored = bytes.fromhex("01 05 ff ff 01 03 ff 2c01 ffff e803 7011010000000000")
    ids, values = decode_many([stored], [3])
    assert ids.tolist() == [5, 305, 70_305]
    assert values.tolist() == [1, 3, 1000]
    assert encode([5, 305, 70_305], [1, 3, 1000]) == stored
    scaled = bytes.fromhex("11 1400000000000000 01 02 01 03")
    assert decode_many([scaled], [2])[1].tolist() == [20, 60]
    assert encode([1, 3], [20, 60]) == scaled


@pytest.mark.parametrize(
    ("ids", "values"),
    [([2, 1], [1, 1]), ([1, 1], [1, 1]), ([0], [1]), ([1], [0]), ([1], [-3]), ([1, 2], [1])],
)
def test_what_is_no_chunk_is_not_written(ids: list[int], values: list[int]) -> None:
    with pytest.raises(ValueError, match=r"ascend|value"):
        encode(ids, values)


@pytest.mark.parametrize("blob", ["", "11", "11 0000", "01 00 01", "01 01 00", "31 01 01"])
def test_what_is_no_chunk_is_not_read(blob: str) -> None:
    with pytest.raises(CorruptChunk):
        decode_many([bytes.fromhex(blob)], [1])


def test_ids_beyond_31_bits_are_damage() -> None:
    with pytest.raises(CorruptChunk, match="31 bits"):
        decode_many([encode([2**31], [1])], [1])
