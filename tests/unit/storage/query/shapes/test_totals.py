"""GIVEN stacks whose functions lack names or callers WHEN they are added up THEN each stack counts as one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.arrays import Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.shapes import totals
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Stacks, built

a_stack = st.lists(st.integers(1, 6), min_size=1, max_size=7).map(tuple)
some_stacks = st.lists(a_stack, min_size=1, max_size=25, unique=True)


class Said(Functions):
    """Functions 1 to 6 of these kinds and states; the root is a marker."""

    def __init__(self, said: list[tuple[Status, Kind]]) -> None:
        super().__init__()
        self._said = [(Status.FULL, Kind.MARKER), *said]

    def status(self, ids: Int64) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.array([status for status, _ in self._said], np.uint8)[ids]

    def kind(self, ids: Int64) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.array([kind for _, kind in self._said], np.uint8)[ids]


@given(
    some_stacks,
    st.lists(st.tuples(st.sampled_from(Status), st.sampled_from(Kind)), min_size=6, max_size=6),
    st.data(),
)
def test_what_stacks_do_not_say_is_counted_once_for_each_stack(stacks, said, data):
    ids = np.arange(1, len(stacks) + 1)
    frames = np.array([f for stack in stacks for f in stack], np.int32)
    state = built(Stacks(ids, frames, np.array([len(stack) for stack in stacks])))
    units = data.draw(st.lists(st.integers(1, 2**40), min_size=len(stacks), max_size=len(stacks)))
    shape = state.shape(ids)
    found = totals._quality(Said(said), shape, shape.self_at(np.array(units, np.int64)))

    def marker(function: int) -> bool:
        return said[function - 1][1] == Kind.MARKER

    def nameless(function: int) -> bool:
        return said[function - 1][0] < Status.SYMTAB and not marker(function)

    counted = list(zip(stacks, units, strict=True))
    no_code = [u for s, u in counted if marker(s[-1]) or nameless(s[-1])]
    unnamed = [u for s, u in counted if any(map(nameless, s)) or marker(s[-1])]
    assert found.no_code == sum(no_code)
    assert found.unnamed == sum(unnamed)
    assert found.incomplete == sum(u for s, u in counted if marker(s[0]))
