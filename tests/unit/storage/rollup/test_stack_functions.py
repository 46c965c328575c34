"""What is held of stacks' functions is what the dictionary says, however little room there is."""

import tracemalloc
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine

from collector import rollup_job
from services.configuration.settings import Settings
from storage.rollup import stack_functions
from storage.rollup.stack_functions import StackFunctions
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


@pytest.mark.slow
@settings(deadline=None)
@given(
    calls=_calls,
    size=st.sampled_from((0, 200, 2000, 20_000, 10**7)),
    blocks=st.integers(1, 4),
    part=st.sampled_from((1, 7, 1 << 14)),
)
def test_what_is_asked_for_is_there(calls: list[list[int]], size: int, blocks: int, part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack_functions, "read_stacks", _Reads())
        patch.setattr(stack_functions, "_BLOCKS", blocks)
        patch.setattr(stack_functions, "_PART", part)
        held = StackFunctions(size)
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
    blocks = [id_ for id_ in range(3 * SPAN) if id_ in _DICTIONARY]
    held = StackFunctions(13 * len(blocks) + 4 * sum(len(_DICTIONARY[id_]) for id_ in blocks))
    held.load(_NOBODY, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))
    held.load(_NOBODY, _ids(4 * SPAN + 2))  # its block does not fit beside the others
    asked = len(reads.asked)
    held.load(_NOBODY, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))
    assert len(reads.asked) == asked, "they were asked for, and fit"
    _assert_right(held, _ids(1, 2, SPAN + 1, 2 * SPAN + 1))


def test_held_is_no_more_than_there_is_room_for(reads: _Reads) -> None:
    size = 2500
    held = StackFunctions(size)
    most = 0
    for low in range(1, 6 * SPAN, 40):
        held.load(_NOBODY, np.arange(low, low + 40))
        most = max(most, held.nbytes)
    assert reads.asked
    assert size / 2 < most <= size


def test_what_was_too_much_for_once_is_not_kept(reads: _Reads) -> None:
    size = 2000
    held = StackFunctions(size)
    held.load(_NOBODY, np.arange(1, 4 * SPAN))
    assert held.nbytes > size
    held.load(_NOBODY, _ids(5 * SPAN + 1))
    assert reads.asked
    assert held.nbytes <= size
    assert len(held.functions) <= size / 4


_STACKS, _DEPTH = 60_000, 18


def _filled(size: int) -> StackFunctions:
    """With as many stacks, whose functions are told by their ids."""
    held = StackFunctions(size)
    for low in range(1, _STACKS, 1000):
        ids = np.arange(low, low + 1000)
        function = (ids[:, None] + np.arange(_DEPTH)).astype(np.int32).reshape(-1)
        held._append(ids, function, np.full(1000, _DEPTH), np.zeros(1000, np.int64))
    return held


def test_it_fills_in_place_and_forgets_in_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack_functions, "_PART", 1 << 10)
    held = _filled(size=_STACKS * (13 + 4 * _DEPTH))
    at = held.functions.ctypes.data
    kept = np.arange(2, _STACKS, 3)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        held._forget(kept)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held.nbytes == len(kept) * (13 + 4 * _DEPTH)
    assert held.functions.ctypes.data == at
    assert most - before < held.nbytes, "a part, and some bytes a stack"
    first, length = held.slices(held.slots(kept))
    assert (held.functions[first + _DEPTH - 1] == kept + _DEPTH - 1).all()
    assert (length == _DEPTH).all()
    assert len(held._missing(np.arange(1, _STACKS))) == _STACKS - 1 - len(kept)


def test_a_full_one_was_never_there_twice() -> None:
    size = _STACKS * (13 + 4 * _DEPTH)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        held = _filled(size)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held.nbytes > 0.9 * size
    assert most - before < 1.5 * size


def test_the_default_holds_five_million_stacks() -> None:
    assert 5_000_000 * (13 + 4 * _DEPTH) <= stack_functions.STACK_BYTES
    assert Settings.model_fields["collector_stack_cache_bytes"].default == stack_functions.STACK_BYTES


def test_the_collector_has_the_room_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(rollup_job, "StackFunctions", asked.append)
    rollup_job.RollupJob(cast("Engine", None), every_s=0, stopped=lambda: True, stack_bytes=7 << 20)
    assert asked == [7 << 20]
