"""Blocks of stacks hold what was put in, each of one span of ids; damaged ones are an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.errors import CorruptChunk
from storage.stack_blocks import SPAN, Block, decode, encode

FUNCTIONS = st.lists(st.one_of(st.integers(1, 200), st.integers(1, (1 << 31) - 1)), max_size=8)
STACKS = st.dictionaries(st.integers(1, 4 * SPAN), FUNCTIONS, max_size=20)


def blocks_of(stacks: dict[int, list[int]]) -> list[Block]:
    ids = sorted(stacks)
    return encode(
        np.array(ids, np.int64),
        np.array([len(stacks[id_]) for id_ in ids], np.int64),
        np.array([f for id_ in ids for f in stacks[id_]], np.int64),
    )


def decoded(blocks: list[Block]) -> dict[int, list[int]]:
    first, stacks = (
        np.array([getattr(b, name) for b in blocks], np.int64) for name in ("first_id", "stacks")
    )
    ids, function, depth = decode(first, stacks, [block.data for block in blocks])
    bounds = np.concatenate(([0], np.cumsum(depth))).tolist()
    return {id_: function[bounds[i] : bounds[i + 1]].tolist() for i, id_ in enumerate(ids.tolist())}


@given(STACKS)
def test_stacks_survive_in_blocks_of_one_span(stacks: dict[int, list[int]]) -> None:
    blocks = blocks_of(stacks)
    assert decoded(blocks) == stacks
    assert [block.block for block in blocks] == sorted({id_ // SPAN for id_ in stacks})
    assert sum(block.stacks for block in blocks) == len(stacks)
    assert decoded(blocks[::-1]) == stacks, "whatever their order"


@given(STACKS.filter(bool), st.data())
def test_a_damaged_block_is_an_error_or_other_stacks(
    stacks: dict[int, list[int]], draw: st.DataObject
) -> None:
    block = blocks_of(stacks)[0]
    data = bytearray(block.data)
    data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    claimed = draw.draw(st.integers(0, 300))
    try:
        ids, function, depth = decode(np.array([block.first_id]), np.array([claimed]), [bytes(data)])
    except CorruptChunk:
        return
    assert len(ids) == len(depth) == claimed
    assert int(depth.sum()) == len(function)


def test_a_block_that_claims_gigabytes_is_refused() -> None:
    bomb = b"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x80" + bytes(8)
    with pytest.raises(CorruptChunk, match="impossible size"):
        decode(np.array([1]), np.array([1]), [bomb])
