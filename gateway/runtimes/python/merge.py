"""Puts Python frames in the places of a native stack where the interpreter ran them. Pure.

One C call of the interpreter runs one run of Python frames. CPython itself shows where a run ends, and from 3.10 on
which C frame ran it, because something of the run lies on the C stack, within that frame (its mark):

    3.9        each Python frame is a run; without marks, so calls of _PyEval_EvalFrameDefault are counted
    3.10       each Python frame is a run; its CFrame lies on the C stack
    3.11       the outermost frame of a run has `is_entry`; its _PyCFrame lies on the C stack
    3.12 on    behind the outermost frame of a run comes a frame of the interpreter's own, which lies on the C stack

Marks are addresses, so no symbol is needed: in stripped builds the interpreter's loop runs partly in code without one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.runtimes.python.frame_records import RawFrame

FIRST_OWN_OWNER: Final = 3
"""`owner` of a frame from which on it is the interpreter's own (3.12 on: FRAME_OWNED_BY_CSTACK and _INTERPRETER)."""


class Run(NamedTuple):
    """Frames that one C call of the interpreter runs, innermost first; `mark` is an address in its C frame, or 0."""

    frames: tuple[RawFrame, ...]
    mark: int


def runs_of(version: tuple[int, int], frames: Sequence[RawFrame]) -> list[Run]:
    """The runs of a stack, innermost first. A run without a mark at the end was cut off, or is of 3.9."""
    found: list[Run] = []
    current: list[RawFrame] = []
    c_frames = 0
    for frame in frames:
        if version >= (3, 12):
            if frame.owner < FIRST_OWN_OWNER:
                current.append(frame)
                continue
            mark = frame.mark
        else:
            current.append(frame)
            if version == (3, 11) and not frame.is_entry:
                continue
            mark = 0
            if version > (3, 9):
                # The i-th mark is the i-th C frame's.
                mark = frames[c_frames].mark
                c_frames += 1
        found.append(Run(tuple(current), mark))
        current = []
    if current:
        found.append(Run(tuple(current), 0))
    return found


class Place(NamedTuple):
    """Where a run belongs: in the stead of the native frame `at`, or behind the last one if that is -1."""

    at: int
    run: Run


def place_by_marks(tops: Sequence[int], stack_pointer: int, runs: Sequence[Run]) -> list[Place] | None:
    """Places of the runs in ascending order; None: the marks contradict the native stack.

    `tops[i]`: words from the stack pointer to where the native frame i begins. The end of the last one is not known,
    so a run there, or beyond, follows the native frames: a recursion deeper than the copied stack keeps its Python part.
    """
    places: list[Place] = []
    last = -1
    for run in runs:
        if not run.mark:
            index = -1
        elif run.mark < stack_pointer:
            return None
        else:
            index = bisect_right(tops, (run.mark - stack_pointer) >> 3) - 1
            if index >= len(tops) - 1:
                index = -1
        if index >= 0:
            if index <= last or (places and places[-1].at < 0):
                return None
            last = index
        places.append(Place(index, run))
    return places


def place_by_count(
    is_evaluation: Sequence[bool], *, complete: bool, runs: Sequence[Run]
) -> list[Place] | None:
    """The same for 3.9, whose calls of the interpreter are counted; None: they are not as many as the runs.

    A complete native stack is aligned at its root: one call more than there are runs is one that just begins or ends.
    One that was cut off is aligned at its leaf.
    """
    calls = [index for index, is_one in enumerate(is_evaluation) if is_one]
    spare = len(calls) - len(runs)
    if complete:
        if spare not in {0, 1}:
            return None
        calls = calls[spare:]
    elif spare > 0:
        return None
    indexes = calls + [-1] * (len(runs) - len(calls))
    return [Place(index, run) for index, run in zip(indexes, runs, strict=True)]


def place_cut(places: Sequence[Place], is_evaluation: Sequence[bool]) -> list[Place] | None:
    """Places if the outermost frames were not read: the last run has no mark, and its C frame is found by its function.

    None: it is not found, as in stripped builds whose loop runs in a part of the code without a symbol.
    """
    if not places or places[-1].at >= 0 or places[-1].run.mark:
        return list(places)
    after = places[-2].at + 1 if len(places) > 1 else 0
    if len(places) > 1 and places[-2].at < 0:
        return list(places)
    for index in range(after, len(is_evaluation)):
        if is_evaluation[index]:
            return [*places[:-1], Place(index, places[-1].run)]
    return None


def merged(
    native: Sequence[int],
    places: Sequence[Place],
    frame_of: Callable[[RawFrame], int | None],
    *,
    keep: bool = False,
    is_cut: bool = False,
) -> list[int]:
    """The stack, leaf first: `frame_of` gives the number of a Python frame, None for one that is no call.

    `keep`: the interpreter's C frame stays, as the caller of the Python frames that it runs. `is_cut`: frames between
    the last run and the native frames behind it are missing, so the stack ends there.
    """
    stack: list[int] = []
    at = 0
    for index, run in places:
        calls = [frame for frame in map(frame_of, run.frames) if frame is not None]
        end = index if index >= 0 else len(native)
        stack += native[at:end]
        stack += calls
        # Without a call there is nothing that the C frame could be hidden behind.
        at = end if index < 0 or keep or not calls else index + 1
    return stack if is_cut else stack + list(native[at:])
