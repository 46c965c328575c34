"""From stacks of addresses to stacks of functions: the pure heart of ingestion.

Every frame of a capture stands for a chain of calls (itself and what was inlined there). Stacks of
different addresses, or of different lines, become one stack of functions and their samples add up;
what distinguished them is kept beside, as samples by (function, line). Sums never change:

    Σ samples of a group's stacks = Σ counts the gateway sent for it
    Σ self of a function's lines ≤ samples with the function as leaf; equal where all lines are known

A fleet's capture holds hundreds of thousands of calls of some thousand places in the code. So what is
known of a place (its function, its line, the function's part of a hash) is worked out once a place, and
the calls of the stacks are indexes of places, in the order in which the gateway sent them: leaf first.
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
"""Functions of a stack that are kept; deeper ones lose their middle (`fold`)."""
_OUTER = 64
_INNER = MAX_DEPTH - _OUTER - 1

_MARKER_OF_END = np.array([marker_of_end(end) for end in range(max(capture_pb2.StackEnd.values()) + 2)])
"""By StackEnd; the last one is for ends that a newer gateway knows."""


@dataclass(frozen=True, slots=True)
class Calls:
    """Every call of every stack of a capture, stack by stack, innermost first."""

    offsets: Int64s
    """Stack s has calls offsets[s]:offsets[s + 1]; a marker, if it has one, is the last of them."""
    place: Int64s
    """Index into the two arrays below."""
    function: Int32s
    """Function ids of the store by place: the entries of the resolved frames, then the markers."""
    line: Int32s
    """Source line by place; 0 not known."""

    def outermost_first(self, stacks: Int64s) -> tuple[Int64s, Int32s]:
        """(depths, function ids one stack after the other) of some of the stacks."""
        depth = self.offsets[stacks + 1] - self.offsets[stacks]
        ends = np.cumsum(depth)
        # Call j of a stack lies at its end − 1 − j.
        at = np.repeat(self.offsets[stacks + 1] - 1 + ends - depth, depth) - np.arange(int(depth.sum()))
        return depth, self.function[self.place[at]]


@dataclass(frozen=True, slots=True)
class FunctionStacks:
    """The distinct function-level stacks of a capture."""

    calls: Calls
    """Of all its stacks, at most MAX_DEPTH deep."""
    first: Int64s
    """For each distinct stack one of `calls` that is it."""
    hashes: Hashes
    """Of each distinct stack."""
    of: Int64s
    """For every stack of the capture its index among the distinct ones."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Samples of profiles as parallel columns."""

    profile: Int64s
    """Index of the profile, in the order given."""
    stack: Int64s
    """Of the capture."""
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

    `function_ids` are the store's ids of `resolved.functions` followed by those of `MARKERS`.
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
    """The distinct stacks of functions, deep ones folded."""
    folded = fold(calls)
    hashes = hash_runs(folded.function, folded.place, folded.offsets)
    order = np.argsort(hashes[:, 0])
    ordered = hashes[order]
    fresh = stack_hash.first_of_equal(ordered)
    of = np.empty(len(order), np.int64)
    of[order] = np.cumsum(fresh) - 1
    return FunctionStacks(folded, order[fresh], ordered[fresh], of)


def fold(calls: Calls) -> Calls:
    """The calls with the middle of stacks deeper than MAX_DEPTH replaced by its marker.

    Leaf and root stay, so self times are exact; a function or line that occurs only in the middle is
    missing from its total. Depth grows without bound in recursion, and each depth would be a stack.
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
    # Each profile's stacks count from 0: take the running sum before it away again.
    filled = sizes[sizes > 0]
    first = np.cumsum(filled) - filled
    stack = np.cumsum(delta)
    stack -= np.repeat(stack[first] - delta[first], filled)
    return Facts(np.repeat(np.arange(len(sizes)), sizes), stack, count)


def sum_by_key(
    group: npt.NDArray[np.integer], key: npt.NDArray[np.integer], value: Int64s, groups: int
) -> Grouped:
    """Σ value for every (group, key), exact in int64, sorted by both; 0 ≤ group < groups, key and value ≥ 0.

    Group, key and value are packed into one number and sorted as that, of 32 bits if they fit: twice as fast
    as of 64, which is four times as fast as to sort positions.
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
    """Where a run of equal numbers begins."""
    fresh = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    return fresh
