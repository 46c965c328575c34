"""GIVEN a native stack and the Python frames of it WHEN they are merged THEN nothing is lost, doubled or reordered."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from gateway.runtimes.python.frame_records import RawFrame
from gateway.runtimes.python.merge import (
    merged,
    place_by_count,
    place_by_marks,
    place_cut,
    runs_of,
)

SP = 0x7000_0000
OWN = 3 << 56
ENTRY = 16 << 56


@dataclass
class Stack:
    """A stack as it was: leaf first, native frames as their index, Python frames as ("py", number)."""

    native: list[int]
    tops: list[int]
    runs: list[tuple[int, list[int]]]
    """Index of the C frame, and the Python frames that it runs."""


@st.composite
def stacks(draw: st.DrawFn) -> Stack:
    size = draw(st.integers(2, 12))
    sizes = draw(st.lists(st.integers(2, 40), min_size=size, max_size=size))
    tops = [sum(sizes[:i]) for i in range(size)]
    places = sorted(draw(st.sets(st.integers(0, size - 2), max_size=6)))
    number = 0
    runs = []
    for place in places:
        count = draw(st.integers(1, 4))
        runs.append((place, list(range(number, number + count))))
        number += count
    return Stack(list(range(1000, 1000 + size)), tops, runs)


def raw(stack: Stack, version: tuple[int, int]) -> list[RawFrame]:
    """The frames as the program reads them."""
    frames: list[RawFrame] = []
    marks: list[int] = []
    for place, numbers in stack.runs:
        mark = SP + 8 * stack.tops[place] + 8
        marks.append(mark)
        for number in numbers:
            last = number == numbers[-1]
            entry = ENTRY if version == (3, 11) and last else 0
            frames.append(RawFrame(0x100 + 8 * number | entry, number, 0))
        if version >= (3, 12):
            frames.append(RawFrame(0x8 | OWN, 0, mark))
    if version == (3, 11):
        frames = [f._replace(mark=marks[i] if i < len(marks) else 0) for i, f in enumerate(frames)]
    return frames


def truth(stack: Stack, *, keep: bool) -> list[int]:
    runs = dict(stack.runs)
    found = []
    for index, frame in enumerate(stack.native):
        found += runs.get(index, [])
        if keep or index not in runs:
            found.append(frame)
    return found


@given(stacks(), st.sampled_from([(3, 11), (3, 12), (3, 13), (3, 14)]), st.booleans())
def test_frames_go_where_their_c_frame_is(stack: Stack, version: tuple[int, int], keep: bool):
    runs = runs_of(version, raw(stack, version))
    assert [len(run.frames) for run in runs] == [len(numbers) for _, numbers in stack.runs]
    places = place_by_marks(stack.tops, SP, runs)
    assert places is not None
    assert merged(stack.native, places, lambda f: f.instruction, keep=keep) == truth(stack, keep=keep)


@given(stacks())
def test_a_frame_that_is_no_call_leaves_the_rest(stack: Stack):
    places = place_by_marks(stack.tops, SP, runs_of((3, 12), raw(stack, (3, 12))))
    assert places is not None
    assert merged(stack.native, places, lambda _: None) == stack.native


@given(stacks(), st.booleans())
def test_by_count_a_call_that_just_begins_is_spare(stack: Stack, begins: bool):
    frames = [RawFrame(0x100 + 8 * number, number, 0) for _, numbers in stack.runs for number in numbers[:1]]
    single = Stack(stack.native, stack.tops, [(place, numbers[:1]) for place, numbers in stack.runs])
    where = {place for place, _ in single.runs}
    is_evaluation = [index in where for index in range(len(stack.native))]
    if begins and 0 not in where:
        is_evaluation[0] = True
    places = place_by_count(is_evaluation, complete=True, runs=runs_of((3, 9), frames))
    assert places is not None
    assert merged(stack.native, places, lambda f: f.instruction) == truth(single, keep=False)


@given(stacks(), st.integers(1, 3))
def test_by_count_other_numbers_do_not_fit(stack: Stack, more: int):
    frames = [RawFrame(0x100 + 8 * number, number, 0) for number in range(len(stack.runs) + more)]
    is_evaluation = [index in dict(stack.runs) for index in range(len(stack.native))]
    assert place_by_count(is_evaluation, complete=True, runs=runs_of((3, 9), frames)) is None


marks = st.one_of(st.integers(0, (1 << 64) - 1), st.integers(SP - 64, SP + 4096))
frames = st.lists(
    st.builds(RawFrame, st.integers(0, (1 << 61) - 1), st.integers(0, (1 << 64) - 1), marks), max_size=30
)


@given(
    stacks(), frames, st.sampled_from([(3, minor) for minor in range(9, 15)]), st.booleans(), st.booleans()
)
def test_forged_marks_give_a_stack_or_none(
    stack: Stack, forged: list[RawFrame], version: tuple[int, int], is_cut: bool, keep: bool
):
    """Whatever a process writes: native frames keep their order, and every frame comes once."""
    runs = runs_of(version, forged)
    assert sum(len(run.frames) for run in runs) <= len(forged)
    is_evaluation = [bool(index % 2) for index in range(len(stack.native))]
    places = (
        place_by_count(is_evaluation, complete=not is_cut, runs=runs)
        if version == (3, 9)
        else place_by_marks(stack.tops, SP, runs)
    )
    if is_cut and places is not None:
        places = place_cut(places, is_evaluation)
    if places is None:
        return
    result = merged(stack.native, places, lambda f: -1 - f.instruction, keep=keep, is_cut=is_cut)
    native = [frame for frame in result if frame >= 1000]
    assert native == sorted(set(native))
    assert set(native) <= set(stack.native)
    python = [frame for frame in result if frame < 1000]
    assert python == [-1 - frame.instruction for run in runs for frame in run.frames]
    hidden = 0 if keep else len(places)
    if not is_cut:
        assert len(native) >= len(stack.native) - hidden
