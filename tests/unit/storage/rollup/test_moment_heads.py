"""The heads of cells say what their whole blobs say of the cells."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import CorruptCell
from storage.rollup import moments_codec, unpacked_moments
from storage.rollup.moments import concatenated
from tests.unit.storage.rollup.test_moments_codec import VISITS, cell_of

OF_CELLS = ("divisor", "visits", "machines", "x", "xx", "xxxx", "xe")


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(VISITS, st.sampled_from([1, 10, 10_101_010])), min_size=1, max_size=6), st.booleans()
)
def test_heads_are_those_of_the_blobs(cells: list[Any], whole: bool) -> None:
    blobs = moments_codec.encode(concatenated([cell_of(*cell) for cell in cells]))
    expected = unpacked_moments.decode(blobs).in_units()
    found = moments_codec.decode_heads(
        blobs if whole else [memoryview(b)[: moments_codec.HEAD_BYTES] for b in blobs]
    )
    for name in OF_CELLS:
        assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-14, atol=0), name
    assert len(found.function) == int(found.count.sum()) == 0


def test_a_blob_that_ends_in_its_head_is_an_error() -> None:
    single, several = (
        moments_codec.encode(cell_of([(machine, {1: (1, 1)}, 0) for machine in range(1, n + 1)], 1))[0]
        for n in (1, 2)
    )
    for blob, size in ((single, 38), (several, 58)):
        assert len(moments_codec.decode_heads([blob, blob[:size]])) == 2
        for short in (size - 1, 14, 1, 0):
            with pytest.raises(CorruptCell):
                moments_codec.decode_heads([blob, blob[:short]])
