"""From stacks of addresses to stacks of functions: the pure heart of landing.

Every frame of a capture stands for a chain of calls (itself and what was inlined there). Stacks of
different addresses, or of different lines, become one stack of functions and their samples add up;
what distinguished them is kept beside, as samples by (function, line). Sums never change:

    Σ samples of a group's stacks = Σ counts the gateway sent for it
    Σ self of a function's lines ≤ samples with the function as leaf; equal where all lines are known
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fleetpb import capture_pb2
from storage.landing.lines import Lines
from storage.landing.markers import COMPLETE, MARKERS, NO_FRAMES, marker_of_end
from storage.landing.resolved import ResolvedFrames

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MAX_DEPTH = 128
"""Functions of a stack that are kept; deeper ones lose their middle (`fold`)."""
_OUTER = 64


@dataclass(frozen=True, slots=True)
class Entries:
    """Every call of every stack of a capture, stack by stack, outermost first."""

    offsets: Int64s
    """Stack s has entries offsets[s]:offsets[s + 1]."""
    function: Int32s
    """Function ids of the store, markers included."""
    line: Int32s
    """0 not known."""


@dataclass(frozen=True, slots=True)
class FunctionStacks:
    """The distinct function-level stacks of a capture."""

    stacks: tuple[bytes, ...]
    """Function ids, outermost first, as little-endian int32; at most MAX_DEPTH."""
    of: Int32s
    """For every stack of the capture its index in `stacks`."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Sorted (group, key) → sum; group g has rows offsets[g]:offsets[g + 1]."""

    offsets: Int64s
    key: Int64s
    total: Int64s


def entries(table: capture_pb2.StackTable, resolved: ResolvedFrames, function_ids: Int32s) -> Entries:
    """The calls of every stack of the table.

    `function_ids` are the store's ids of `resolved.functions` followed by those of `MARKERS`.
    """
    length = np.array(table.length, np.int64)
    frames = np.array(table.frames, np.int64)
    marker_ids = function_ids[len(resolved.functions) :]
    assert len(marker_ids) == len(MARKERS)

    calls = np.diff(resolved.offsets)[frames]
    frame_bounds = np.concatenate(([0], np.cumsum(calls)))
    within = np.arange(frame_bounds[-1]) - np.repeat(frame_bounds[:-1], calls)
    entry = np.repeat(resolved.offsets[frames], calls) + within  # innermost first, like the frames
    depth = frame_bounds[np.cumsum(length)] - frame_bounds[np.cumsum(length) - length]

    marker = np.array([marker_of_end(end) for end in table.end], np.int64)
    marker[(depth == 0) & (marker == COMPLETE)] = NO_FRAMES
    marked = (marker != COMPLETE).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(depth + marked)))
    function = np.empty(offsets[-1], np.int32)
    line = np.zeros(offsets[-1], np.int32)
    has_marker = np.flatnonzero(marked)
    function[offsets[:-1][has_marker]] = marker_ids[marker[has_marker]]
    # Entry j of a stack of depth d lies at its end − 1 − j: turned round, so outermost first.
    position = np.repeat(offsets[1:] - 1, depth) - (
        np.arange(len(entry)) - np.repeat(np.cumsum(depth) - depth, depth)
    )
    function[position] = function_ids[resolved.function[entry]]
    line[position] = resolved.line[entry]
    return Entries(offsets, function, line)


def function_stacks(calls: Entries, left_out: int) -> FunctionStacks:
    """The distinct stacks of functions; `left_out` is the id of the marker of folded middles."""
    raw = calls.function.astype("<i4").tobytes()
    index: dict[bytes, int] = {}
    of = np.empty(len(calls.offsets) - 1, np.int32)
    marker = np.array([left_out], "<i4").tobytes()
    bounds = (calls.offsets * 4).tolist()
    for s, (start, end) in enumerate(itertools.pairwise(bounds)):
        of[s] = index.setdefault(fold(raw[start:end], marker), len(index))
    return FunctionStacks(tuple(index), of)


def fold(stack: bytes, marker: bytes) -> bytes:
    """The stack, with its middle replaced by the marker when it is deeper than MAX_DEPTH.

    Leaf and root stay, so self times are exact; a function that occurs only in the middle is
    missing from its total. Depth grows without bound in recursion, and each depth would be a stack.
    """
    if len(stack) <= 4 * MAX_DEPTH:
        return stack
    return stack[: 4 * _OUTER] + marker + stack[-4 * (MAX_DEPTH - _OUTER - 1) :]


def sum_by_key(group: Int64s, key: Int64s, value: Int64s, groups: int) -> Grouped:
    """Σ value for every (group, key), exact in int64, sorted by both; 0 ≤ key < 2³², groups < 2³¹."""
    place = (group << 32) | key  # one number sorts several times faster than two columns
    order = np.argsort(place, kind="stable")
    place = place[order]
    at = np.flatnonzero(_first_of_equal(place))
    total = np.add.reduceat(value[order], at) if len(at) else np.empty(0, np.int64)
    return Grouped(np.searchsorted(place[at], np.arange(groups + 1) << 32), place[at] & 0xFFFFFFFF, total)


def _first_of_equal(ascending: Int64s) -> Bools:
    fresh = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    return fresh


def line_counts(calls: Entries, group: Int64s, stack: Int64s, count: Int64s, groups: int) -> list[Lines]:
    """For every group its samples by (function, line), where the line is known.

    The facts are parallel columns: group, stack of the capture, samples. A recursive line counts
    each sample once in its total. Calls without a line are left out: stacks say as much of them.
    """
    depth = np.diff(calls.offsets)
    known = calls.line > 0
    owner = np.repeat(np.arange(len(depth)), depth)[known]
    place = ((calls.function.astype(np.int64) << 32) | calls.line)[known]
    places, index = np.unique(place, return_inverse=True)
    once = np.sort((owner << 32) | index)
    once = once[_first_of_equal(once)]  # each place once a stack
    index_once = once & 0xFFFFFFFF
    bounds = np.searchsorted(once, np.arange(len(depth) + 1) << 32)

    per_fact = np.diff(bounds)[stack]
    before = np.cumsum(per_fact) - per_fact
    at = np.arange(int(per_fact.sum())) + np.repeat(bounds[stack] - before, per_fact)
    total = sum_by_key(np.repeat(group, per_fact), index_once[at], np.repeat(count, per_fact), groups)

    leaf = np.full(len(calls.function), -1, np.int64)
    leaf[known] = index
    leaf_of_fact = leaf[calls.offsets[1:] - 1][stack]
    with_line = leaf_of_fact >= 0
    own = sum_by_key(group[with_line], leaf_of_fact[with_line], count[with_line], groups)
    self_samples = np.zeros(len(total.key), np.int64)
    self_samples[np.searchsorted(_joined(total), _joined(own))] = own.total

    function = (places >> 32).astype(np.int32)[total.key]
    line = (places & 0xFFFFFFFF).astype(np.int32)[total.key]
    return [
        Lines(function[lo:hi], line[lo:hi], self_samples[lo:hi], total.total[lo:hi])
        for lo, hi in itertools.pairwise(total.offsets.tolist())
    ]


def _joined(grouped: Grouped) -> Int64s:
    """(group, key) as one ascending number."""
    return (np.repeat(np.arange(len(grouped.offsets) - 1), np.diff(grouped.offsets)) << 32) | grouped.key


def facts_of(profiles: Sequence[capture_pb2.GroupProfile]) -> tuple[Int64s, Int64s, Int64s]:
    """(profile index, stack of the capture, samples) of all profiles, as parallel columns."""
    sizes = [len(p.count) for p in profiles]
    group = np.repeat(np.arange(len(sizes)), sizes)
    stack = np.concatenate(
        [np.cumsum(np.array(p.stack_delta, np.int64)) for p in profiles] or [np.empty(0, np.int64)]
    )
    count = np.concatenate([np.array(p.count, np.int64) for p in profiles] or [np.empty(0, np.int64)])
    return group, stack.astype(np.int64), count
