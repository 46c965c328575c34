"""Columns of jumps: what goes in comes out, and damage is said to be damage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.small_numbers import pack_jumps, unpack_jumps
from storage.errors import CorruptChunk

BEYOND = 128 + 256 * 127
NUMBERS = st.one_of(
    st.integers(0, 300),
    st.integers(0, 2**32 - 1),
    st.sampled_from([127, 128, 383, 384, BEYOND - 1, BEYOND, 2**32 - 1]),
)
PARTS = st.lists(st.tuples(st.lists(NUMBERS, max_size=40), st.binary(max_size=3)), max_size=6)


@given(PARTS)
def test_numbers_survive_and_what_follows_them(parts: list[tuple[list[int], bytes]]) -> None:
    counts = np.array([len(numbers) for numbers, _ in parts], np.int64)
    flat = [n for numbers, _ in parts for n in numbers]
    blobs = pack_jumps(np.array(flat, np.int64), counts)
    views = [memoryview(blob + more) for blob, (_, more) in zip(blobs, parts, strict=True)]
    column, behind = unpack_jumps(views, counts)
    assert column.tolist() == flat
    assert [bytes(view) for view in behind] == [more for _, more in parts]


def test_every_number_up_to_those_of_four_bytes_survives() -> None:
    numbers = np.arange(BEYOND + 300)
    column, _ = unpack_jumps(
        [memoryview(pack_jumps(numbers, np.array([len(numbers)]))[0])], np.array([len(numbers)])
    )
    assert np.array_equal(column, numbers)


def test_a_blob_of_the_first_version_is_read_for_ever() -> None:
    """Bytes are spelled out: another table of symbols needs another form."""
    blob = bytes.fromhex("07000000 01 00 7f 80 80 fe ff  00 ff ff  80800000")
    numbers = np.array([0, 127, 128, 383, BEYOND - 1, 32_896])
    column, behind = unpack_jumps([memoryview(blob)], np.array([6]))
    assert column.tolist() == numbers.tolist()
    assert [len(view) for view in behind] == [0]
    assert pack_jumps(numbers, np.array([6])) == [blob]


def test_numbers_of_eleven_bits_cost_less_than_a_byte_and_a_half() -> None:
    numbers = np.random.default_rng(1).integers(0, 2000, 10_000)
    assert len(pack_jumps(numbers, np.array([10_000]))[0]) < 14_600


@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_other_numbers_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match="non-negative"):
        pack_jumps(np.array([number]), np.array([1]))


@pytest.mark.parametrize(
    "blob",
    [
        "",
        "010000",
        "00000000",
        "ffffffff 01 00",
        "02000000 01 80",  # the second byte is not there
        "02000000 01 ff 808000",  # a byte of four is not there
        "02000000 01 ff 7f7f0000",  # two bytes would have done
        "03000000 01 00 00",
    ],
)
def test_what_is_no_blob_of_one_number_is_refused(blob: str) -> None:
    with pytest.raises(CorruptChunk):
        unpack_jumps([memoryview(bytes.fromhex(blob))], np.array([1]))


@given(st.lists(NUMBERS, max_size=40), st.data())
def test_damage_is_an_error_or_other_numbers_but_never_a_crash(
    numbers: list[int], data: st.DataObject
) -> None:
    counts = np.array([len(numbers)])
    blob = bytearray(pack_jumps(np.array(numbers, np.int64), counts)[0])
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    try:
        column, _ = unpack_jumps([memoryview(bytes(blob))[: data.draw(st.integers(0, len(blob)))]], counts)
    except CorruptChunk:
        return
    assert len(column) == len(numbers)
    assert not len(column) or 0 <= int(column.min()) <= int(column.max()) < 1 << 32
