"""Convert stacks of addresses to stacks of functions: the pure core of ingestion.

Every frame of a capture stands for a chain of calls (itself and calls inlined there). Stacks of different addresses or
lines become one stack of functions, and their samples add up. Lines are kept separately, as samples by (function,
line). Sums never change:

    Σ samples of a group's stacks = Σ counts the gateway sent for it
    Σ self of a function's lines ≤ samples with the function as leaf; equal where all lines are known

A fleet's capture has hundreds of thousands of calls at some thousand places in the code. So the properties of a place
(its function, its line, the function's part of a hash) are computed once per place. The calls of stacks are indexes of
places, in the gateway's order: leaf first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fleetpb import capture_pb2
from storage.ingest import stack_hash
from storage.ingest.marker_frames import COMPLETE, LEFT_OUT, MARKERS, NO_FRAMES, marker_of_end
from storage.ingest.stack_hash import Hashes, hash_runs
from storage.ingest.symbolized import ResolvedFrames

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_DEPTH = 128
"""Maximum depth of a stored stack, in functions; deeper stacks lose their middle (`fold`)."""
_OUTER = 64
_INNER = MAX_DEPTH - _OUTER - 1

_MARKER_OF_END = np.array([marker_of_end(end) for end in range(max(capture_pb2.StackEnd.values()) + 2)])
"""By StackEnd; the last entry is for ends that only a newer gateway defines."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Every call of every stack of a capture, stack by stack, innermost first."""

    offsets: Int64s
    """Stack s has calls offsets[s]:offsets[s + 1]; a marker, if present, is the last of them."""
    place: Int64s
    """Index into the two arrays below."""
    function: Int32s
    """Function ids of the dictionary by place: the entries of the resolved frames, then the markers."""
    line: Int32s
    """Source line by place; 0 if unknown."""

    def outermost_first(self, stacks: Int64s) -> tuple[Int64s, Int32s]:
        """(depths, function ids of one stack after the other) of the given stacks."""
        depth = self.offsets[stacks + 1] - self.offsets[stacks]
        ends = np.cumsum(depth)
        # Call j of a stack is at its end − 1 − j.
        at = np.repeat(self.offsets[stacks + 1] - 1 + ends - depth, depth) - np.arange(int(depth.sum()))
        return depth, self.function[self.place[at]]


@dataclass(frozen=True, slots=True)
class FunctionStacks:
    """The distinct function-level stacks of a capture."""

    calls: Calls
    """The calls of all stacks, at most MAX_DEPTH deep."""
    first: Int64s
    """For each distinct stack the index of one equal stack in `calls`."""
    hashes: Hashes
    """The hash of each distinct stack."""
    of: Int64s
    """For every stack of the capture its index among the distinct ones."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Samples of profiles as parallel columns."""

    profile: Int64s
    """Index of the profile, in the order given."""
    stack: Int64s
    """Stack of the capture."""
    count: Int64s
    """Samples."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Sorted (group, key) → sum; group g has rows offsets[g]:offsets[g + 1]."""

    offsets: Int64s
    key: Int64s
    total: Int64s


def calls_of(table: capture_pb2.StackTable, resolved: ResolvedFrames, function_ids: Int32s) -> Calls:
    """The calls of every stack of the table.

    `function_ids` are the dictionary ids of `resolved.functions` followed by those of `MARKERS`.
    """
    length = np.array(table.length, np.int64)
    frames = np.array(table.frames, np.int64)
    marker_ids = function_ids[len(resolved.functions) :]
    assert len(marker_ids) == len(MARKERS)
    first_marker = len(resolved.function)
    function = np.concatenate((function_ids[resolved.function], marker_ids))
    line = np.concatenate((resolved.line, np.zeros(len(MARKERS), np.int32)))

    ends = np.cumsum(length)
    place, depth = frames, length
    calls = np.diff(resolved.offsets)
    if len(frames) and int(calls.max()) > 1:
        each = calls[frames]
        after = np.cumsum(each)
        place = np.repeat(resolved.offsets[frames] - (after - each), each) + np.arange(int(after[-1]))
        ends = np.concatenate(([0], after))[ends]
        depth = np.diff(ends, prepend=0)

    end = np.minimum(np.array(table.end, np.int64), len(_MARKER_OF_END) - 1)
    marker = _MARKER_OF_END[end]
    marker[(depth == 0) & (marker == COMPLETE)] = NO_FRAMES
    marked = marker != COMPLETE
    if marked.any():
        place = np.insert(place, ends[marked], first_marker + marker[marked])
        ends = ends + np.cumsum(marked)
    return Calls(np.concatenate(([0], ends)), place, function, line)


def function_stacks(calls: Calls) -> FunctionStacks:
    """The distinct stacks of functions, with deep ones folded."""
    folded = fold(calls)
    hashes = hash_runs(folded.function, folded.place, folded.offsets)
    order = np.argsort(hashes[:, 0])
    ordered = hashes[order]
    fresh = stack_hash.first_of_equal(ordered)
    of = np.empty(len(order), np.int64)
    of[order] = np.cumsum(fresh) - 1
    return FunctionStacks(folded, order[fresh], ordered[fresh], of)


def fold(calls: Calls) -> Calls:
    """Replace the middle of stacks deeper than MAX_DEPTH by its marker.

    Leaf and root stay, so self times are exact. A function or line that occurs only in the middle is missing from its
    total. Recursion has unbounded depth, and each depth would be another stack.
    """
    depth = np.diff(calls.offsets)
    if not len(depth) or int(depth.max()) <= MAX_DEPTH:
        return calls
    left_out = len(calls.function) - len(MARKERS) + LEFT_OUT
    position = np.arange(len(calls.place)) - np.repeat(calls.offsets[:-1], depth)
    from_root = np.repeat(depth, depth) - position
    deep = np.repeat(depth > MAX_DEPTH, depth)
    place = np.where(deep & (position == _INNER), left_out, calls.place)
    kept = ~deep | (position <= _INNER) | (from_root <= _OUTER)
    offsets = np.concatenate(([0], np.cumsum(np.minimum(depth, MAX_DEPTH))))
    return Calls(offsets, place[kept], calls.function, calls.line)


def facts_of(profiles: Sequence[capture_pb2.GroupProfile]) -> Facts:
    """The facts of all profiles, in order."""
    nothing = np.empty(0, np.int64)
    deltas = [np.array(profile.stack_delta, np.int64) for profile in profiles]
    sizes = np.fromiter(map(len, deltas), np.int64, len(deltas))
    delta = np.concatenate(deltas or [nothing])
    count = np.concatenate([np.array(profile.count, np.int64) for profile in profiles] or [nothing])
    # Stack deltas restart in each profile: subtract the running sum before it.
    filled = sizes[sizes > 0]
    first = np.cumsum(filled) - filled
    stack = np.cumsum(delta)
    stack -= np.repeat(stack[first] - delta[first], filled)
    return Facts(np.repeat(np.arange(len(sizes)), sizes), stack, count)


def sum_by_key(
    group: npt.NDArray[np.integer], key: npt.NDArray[np.integer], value: Int64s, groups: int
) -> Grouped:
    """Σ value for every (group, key), exact in int64, sorted by both; 0 ≤ group < groups, key and value ≥ 0.

    Group, key and value are packed into one integer and sorted. 32 bits, where they suffice, sort twice as fast as 64,
    which sort four times as fast as positions.
    """
    if not len(key):
        nothing = np.empty(0, np.int64)
        return Grouped(np.zeros(groups + 1, np.int64), nothing, nothing)
    key_bits, value_bits = int(key.max()).bit_length(), int(value.max()).bit_length()
    bits = (groups - 1).bit_length() + key_bits
    kind = np.int32 if bits + value_bits < 32 else np.int64
    place: npt.NDArray[np.signedinteger[Any]] = group.astype(kind)
    place <<= key_bits
    place |= key.astype(kind, copy=False)
    if bits + value_bits < 64:
        place <<= value_bits
        place |= value.astype(kind, copy=False)
        place.sort()
        value = place & (1 << value_bits) - 1
        place >>= value_bits
    else:
        order = np.argsort(place)
        place, value = place[order], value[order]
    at = np.flatnonzero(first_of_equal(place))
    distinct = place.take(at).astype(np.int64)
    return Grouped(
        np.searchsorted(distinct, np.arange(groups + 1) << key_bits),
        distinct & ((1 << key_bits) - 1),
        np.add.reduceat(value, at, dtype=np.int64),
    )


def first_of_equal(ascending: npt.NDArray[np.integer]) -> Bools:
    """Marks the first of each run of equal numbers."""
    fresh = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    return fresh
