"""GIVEN chunks in one buffer WHEN they are decoded some at a time THEN it is what decoding all at once says."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.blobs.fact_blobs import decode_many, encode
from storage.query.facts import decode_chunks
from storage.snapshots.copy_binary import NO_BLOBS, Blobs

rows = st.dictionaries(st.integers(1, 1 << 30), st.integers(1, 1 << 40), min_size=1, max_size=8)


def in_one_buffer(blobs: list[bytes]) -> Blobs:
    gap = b"between"
    starts = [0, *accumulate(len(blob) + len(gap) for blob in blobs)][: len(blobs)]
    lengths = [len(blob) for blob in blobs]
    return Blobs(memoryview(gap.join(blobs)), np.array(starts, np.int64), np.array(lengths, np.int64))


@given(st.lists(rows, max_size=9), st.integers(1, 4), st.data())
def test_some_at_a_time_is_all_at_once(
    facts: list[dict[int, int]], at_once: int, data: st.DataObject
) -> None:
    blobs = [encode(*zip(*sorted(each.items()), strict=True)) for each in facts]
    counts = np.array([len(each) for each in facts], np.int64)
    keep = np.flatnonzero([data.draw(st.booleans()) for _ in blobs]).astype(np.int64)
    cut = data.draw(st.integers(0, len(keep)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode_chunks, "_AT_ONCE", at_once)
        every = in_one_buffer(blobs)
        parts = [every.of(keep[:cut]), NO_BLOBS, every.of(keep[cut:])]
        stacks, values = decode_chunks.decode_chunks(parts, counts[keep])
    expected = decode_many([blobs[place] for place in keep.tolist()], counts[keep])
    assert stacks.tolist() == expected[0].tolist()
    assert values.tolist() == expected[1].tolist()
    assert (stacks.dtype, values.dtype) == (np.int64, np.int64)
