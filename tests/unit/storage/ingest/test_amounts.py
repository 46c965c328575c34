"""Pairs of amounts: what goes in comes out, and damage is said to be damage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.small_numbers import pack_amounts, unpack_amounts
from storage.errors import CorruptChunk

AMOUNTS = st.one_of(
    st.integers(0, 9), st.integers(0, 300), st.sampled_from([127, 128, 255, 65_535]), st.integers(0, 2**51)
)
PARTS = st.lists(st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=30), max_size=6)


def columns_of(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    own, rest = np.array(pairs, np.int64).reshape(-1, 2).T
    return own, rest


@given(PARTS)
def test_pairs_survive(parts: list[list[tuple[int, int]]]) -> None:
    flat = [pair for pairs in parts for pair in pairs]
    counts = np.array([len(pairs) for pairs in parts], np.int64)
    blobs = pack_amounts(*columns_of(flat), counts)
    own, rest = unpack_amounts([memoryview(blob) for blob in blobs], counts)
    assert list(zip(own.tolist(), rest.tolist(), strict=True)) == flat


def test_every_pair_of_small_amounts_survives() -> None:
    pairs = [(own, rest) for own in range(12) for rest in range(300)]
    [blob] = pack_amounts(*columns_of(pairs), np.array([len(pairs)]))
    own, rest = unpack_amounts([blob], np.array([len(pairs)]))
    assert list(zip(own.tolist(), rest.tolist(), strict=True)) == pairs


def test_a_blob_of_the_first_version_is_read_for_ever() -> None:
    """Bytes are spelled out: another table of symbols needs another form."""
    blob = bytes.fromhex("09000000 01 00 7f 80 b0 c8 f8 fe ff  01 00 02 07 09")
    own, rest = unpack_amounts([blob], np.array([8]))
    assert own.tolist() == [0, 0, 1, 2, 3, 0, 6, 9]
    assert rest.tolist() == [0, 127, 0, 0, 0, 128, 10, 7]
    assert pack_amounts(own, rest, np.array([8])) == [blob]


def test_small_pairs_cost_less_than_a_byte_each() -> None:
    random = np.random.default_rng(1)
    own, rest = random.geometric(0.7, 10_000) - 1, random.geometric(0.3, 10_000) - 1
    [blob] = pack_amounts(own, rest, np.array([10_000]))
    assert len(blob) < 6_500


def test_negative_amounts_are_refused() -> None:
    for pairs in ([(0, -1)], [(-1, 0)]):
        with pytest.raises(ValueError, match="non-negative"):
            pack_amounts(*columns_of(pairs), np.array([1]))


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\x01\x00\x00",
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff\x01\x00",
        b"\x02\x00\x00\x00\x01\x00more",
        b"\x02\x00\x00\x00\x01\xf8",  # a larger rest, and it is not there
        b"\x02\x00\x00\x00\x01\xff\x01\x00",  # rest and self, and one is not there
        b"\x02\x00\x00\x00\x01\xf8\x01\xff\xff\xff" + ((1 << 63) - 2).to_bytes(8, "little"),
    ],
)
def test_what_is_no_blob_of_one_pair_is_refused(blob: bytes) -> None:
    with pytest.raises(CorruptChunk):
        unpack_amounts([blob], np.array([1]))


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=30), st.data())
def test_damage_is_an_error_or_other_pairs_but_never_a_crash(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    counts = np.array([len(pairs)])
    blob = bytearray(pack_amounts(*columns_of(pairs), counts)[0])
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    try:
        own, rest = unpack_amounts([bytes(blob[: data.draw(st.integers(0, len(blob)))])], counts)
    except CorruptChunk:
        return
    assert len(own) == len(rest) == len(pairs)
    assert min(own.min(initial=0), rest.min(initial=0)) >= 0
