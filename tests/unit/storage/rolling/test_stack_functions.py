"""What is held of stacks' functions is what the dictionary says, however little room there is."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from storage.rolling import stack_functions
from storage.rolling.stack_functions import StackFunctions
from storage.stack_blocks import SPAN

Int64 = npt.NDArray[np.int64]
_DICTIONARY = {
    id_: tuple(int(f) for f in np.random.default_rng(id_).integers(1, 30, id_ % 7))
    for id_ in range(1, 6 * SPAN)
    if id_ % 5
}
"""Functions of stacks, outermost first, some without any and some recursive; each fifth id the sweep took."""
_NOBODY = cast("Connection", None)


class _Reads:
    """The dictionary, and what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, _connection: Connection, ids: Int64, *, limit: int) -> tuple[Int64, Any, Int64]:
        assert limit
        found = [id_ for id_ in ids.tolist() if id_ in _DICTIONARY]
        self.asked.append(found)
        flat = [function for id_ in found for function in _DICTIONARY[id_]]
        lengths = [len(_DICTIONARY[id_]) for id_ in found]
        return np.array(found, np.int64), np.array(flat, np.int32), np.array(lengths, np.int64)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> _Reads:
    made = _Reads()
    monkeypatch.setattr(stack_functions, "read_stacks", made)
    return made


def _ids(*ids: int) -> Int64:
    return np.array(ids, np.int64)


def _assert_right(held: StackFunctions, ids: Int64) -> None:
    slots = held.slots(ids)
    first, length = held.slices(slots)
    for id_, begin, size, leaf in zip(
        ids.tolist(), first.tolist(), length.tolist(), held.leaf_at(slots).tolist(), strict=True
    ):
        functions = held.functions[begin : begin + size].tolist()
        expected = _DICTIONARY.get(id_, ())
        assert sorted(functions) == sorted(set(expected)), id_
        if expected:
            assert functions[leaf] == expected[-1], id_


_calls = st.lists(
    st.lists(st.integers(1, 6 * SPAN + 10), min_size=1, max_size=40, unique=True), min_size=1, max_size=8
)


@settings(deadline=None)
@given(calls=_calls, capacity=st.sampled_from((0, 30, 300, 3000, 10**6)), blocks=st.integers(1, 4))
def test_what_is_asked_for_is_there(calls: list[list[int]], capacity: int, blocks: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack_functions, "read_stacks", _Reads())
        patch.setattr(stack_functions, "_BLOCKS", blocks)
        held = StackFunctions(capacity)
        for call in calls:
            held.load(_NOBODY, _ids(*call))
            _assert_right(held, _ids(*call))


def test_a_block_is_unpacked_once(reads: _Reads) -> None:
    held = StackFunctions()
    held.load(_NOBODY, _ids(1, 2, SPAN + 1))
    asked = len(reads.asked)
    held.load(_NOBODY, _ids(3, SPAN + 2, SPAN - 2))
    assert len(reads.asked) == asked
    _assert_right(held, _ids(1, 3, SPAN + 2, SPAN - 2))


def test_one_that_the_dictionary_lost_is_not_asked_for_again(reads: _Reads) -> None:
    held = StackFunctions()
    for _ in range(2):
        held.load(_NOBODY, _ids(5))
    assert len(reads.asked) == 1


def test_when_room_is_short_neighbours_go_before_what_was_asked_for(reads: _Reads) -> None:
    whole = sum(len(_DICTIONARY.get(id_, ())) for id_ in range(3 * SPAN))
    held = StackFunctions(whole)
    held.load(_NOBODY, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))
    held.load(_NOBODY, _ids(4 * SPAN + 2))  # its block does not fit beside the others
    asked = len(reads.asked)
    held.load(_NOBODY, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))
    assert len(reads.asked) == asked, "they were asked for, and fit"
    _assert_right(held, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))


def test_held_is_no_more_than_there_is_room_for(reads: _Reads) -> None:
    capacity = 400
    held = StackFunctions(capacity)
    most = 0
    for low in range(1, 6 * SPAN, 40):
        held.load(_NOBODY, np.arange(low, low + 40))
        most = max(most, held._functions)
    assert reads.asked
    assert most <= capacity
