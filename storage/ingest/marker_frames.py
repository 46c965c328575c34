"""Marker frames: functions without code that describe which part of a stack is missing.

A walk that did not reach its thread's start begins with the marker of its end, so completeness is a property of the
stack. Any selection, merged or not, has the share of its samples whose callers are missing, and why. The flame graph
shows them apart, and not as leaves among the roots.
"""

from enum import IntEnum

from fleetpb import capture_pb2
from storage.ingest.symbolized import FunctionName, Status


class Kind(IntEnum):
    """The kind of a function; the numbers are stored."""

    USER = 0
    KERNEL = 1
    MARKER = 2


def _marker(text: str) -> FunctionName:
    name = f"[{text}]"
    return FunctionName(name=name, raw_name=name, file="", binary_name="", status=Status.FULL)


MARKERS = (
    _marker("stack: unknown end"),
    _marker("stack: cut short"),
    _marker("stack: no unwind information"),
    _marker("stack: left mapped code"),
    _marker("stack: broken"),
    _marker("stack: too deep"),
    _marker("frames left out"),
    _marker("no frames"),
)
"""All markers. The first six are outermost frames of incomplete stacks."""

LEFT_OUT = 6
"""Index in MARKERS: replaces the middle of a folded stack."""
NO_FRAMES = 7
"""Index in MARKERS: the only frame of a sample without frames."""

COMPLETE = -1
_BY_END: dict[int, int] = {
    capture_pb2.STACK_END_UNSPECIFIED: 0,
    capture_pb2.STACK_END_COMPLETE: COMPLETE,
    capture_pb2.STACK_END_KERNEL_ONLY: COMPLETE,
    capture_pb2.STACK_END_TRUNCATED: 1,
    capture_pb2.STACK_END_NO_UNWIND: 2,
    capture_pb2.STACK_END_NO_MAPPING: 3,
    capture_pb2.STACK_END_BAD_STACK: 4,
    capture_pb2.STACK_END_TOO_DEEP: 5,
    capture_pb2.STACK_END_FLAT: COMPLETE,  # callers were not requested, so none are missing
}


def marker_of_end(end: int) -> int:
    """Index in MARKERS for how a walk ended (StackEnd), or COMPLETE."""
    return _BY_END.get(end, 0)
