"""Functions of stacks survive their bytes; bytes that are no stacks are an error."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.frames import pack, unpack

IDS = st.one_of(st.integers(0, 200), st.integers(0, 1 << 15), st.integers(0, (1 << 31) - 1))
STACKS = st.lists(st.lists(IDS, max_size=12), max_size=12)


def columns(stacks: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([f for stack in stacks for f in stack], np.int32), np.array(
        [len(s) for s in stacks], np.int64
    )


@given(STACKS)
def test_stacks_survive(stacks: list[list[int]]) -> None:
    function, lengths = columns(stacks)
    packed, sizes = pack(function, lengths)
    assert len(sizes) == len(stacks)
    back, back_lengths = unpack(packed.tobytes(), sizes)
    assert back.tolist() == function.tolist()
    assert back_lengths.tolist() == lengths.tolist()


@given(STACKS, st.integers(1, 12))
def test_stacks_survive_in_pieces(stacks: list[list[int]], piece: int) -> None:
    function, lengths = columns(stacks)
    with mock.patch("storage.frames._PIECE", piece):
        back, back_lengths = unpack(*pack(function, lengths))
    assert back.tolist() == function.tolist()
    assert back_lengths.tolist() == lengths.tolist()


@given(STACKS)
def test_a_stack_has_the_same_bytes_alone(stacks: list[list[int]]) -> None:
    """They are compared and counted in the database."""
    packed, sizes = pack(*columns(stacks))
    ends = np.cumsum(sizes)
    for stack, end, size in zip(stacks, ends.tolist(), sizes.tolist(), strict=True):
        assert pack(*columns([stack]))[0].tobytes() == packed[end - size : end].tobytes()


def test_bytes_are_those_of_leb128() -> None:
    packed, sizes = pack(*columns([[1, 127, 128], [], [624485]]))
    assert packed.tobytes() == bytes([1, 127, 0x80, 1, 0xE5, 0x8E, 0x26])  # the example of DWARF 5, 7.6
    assert sizes.tolist() == [4, 0, 3]


@given(st.binary(max_size=20), st.integers(0, 20))
def test_noise_is_an_error_or_stacks(data: bytes, cut: int) -> None:
    sizes = np.array([min(cut, len(data)), max(len(data) - cut, 0)], np.int64)
    try:
        function, lengths = unpack(data, sizes)
    except ValueError:
        return
    assert int(lengths.sum()) == len(function)
    assert not len(function) or int(function.min()) >= 0


@pytest.mark.parametrize("id_", [-1, 1 << 31])
def test_an_id_beyond_31_bits_is_refused(id_: int) -> None:
    with pytest.raises(ValueError, match="31 bits"):
        pack(np.array([id_]), np.array([1]))
