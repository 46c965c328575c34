"""Samples of a capture by the address of their innermost frame: facts keep functions and lines, not addresses.

The samples of a selection in a capture are those of its profiles. A profile's id follows from the visit, the segment
and the labels of the process group, so the capture itself says which profile each sample is in.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from fleetpb import capture_pb2
from storage.arrays import Float, Int64, sum_at, weight_at
from storage.ingest.assembly import profile_id
from storage.ingest.binary_images import image_of
from storage.ingest.profile_labels import key_of_group

_EXACT = 1
"""Bit of FrameTable.flags: the pointer is of the instruction itself."""


@dataclass(frozen=True, slots=True)
class LeafAddresses:
    """Columns over distinct (offset, start of the function)."""

    offset: Int64
    """Offset of the instruction in the binary, as `fleetpb.v1.Mapping.Kind` defines it."""
    function_start: Int64
    """Offset of the function's start by the unwind table; the offset itself if it is not known."""
    samples: Int64
    units: Int64


def leaf_addresses(
    capture: capture_pb2.Capture, binary_key: str, visit_id: UUID, profile_ids: Container[int]
) -> LeafAddresses:
    """The samples of these profiles whose innermost frame is in the binary; the capture has passed `decode_capture`."""
    frame_of = _leaves(capture, binary_key)
    stack: list[Int64] = [_NONE]
    samples: list[Int64] = [_NONE]
    units: list[Int64] = [_NONE]
    keys: dict[int, str] = {}
    for number, segment in enumerate(capture.segments):
        if segment.support != capture_pb2.SUPPORT_OK:
            continue
        for sent in segment.profiles:
            stacks = np.cumsum(np.array(sent.stack_delta, np.int64))
            here = frame_of[stacks] >= 0
            if not here.any():
                continue
            if sent.group not in keys:
                keys[sent.group] = key_of_group(capture, capture.groups[sent.group])
            if profile_id(visit_id, number, keys[sent.group]) not in profile_ids:
                continue
            counts = np.array(sent.count, np.int64)[here]
            stack.append(stacks[here])
            samples.append(counts)
            units.append(counts * segment.period)
    frames, which = np.unique(frame_of[np.concatenate(stack)], return_inverse=True)
    columns = capture.frames
    exact = np.array(columns.flags, np.int64)[frames] & _EXACT
    offset = np.array(columns.offset, np.uint64).astype(np.int64)[frames]
    offset -= (exact == 0) & (offset > 0)  # a return address is looked up one byte earlier
    into = np.array(columns.into_function, np.int64)[frames]
    return LeafAddresses(
        offset,
        np.where((into > 0) & (into - 1 <= offset), offset - into + 1, offset),
        sum_at(which, np.concatenate(samples), len(frames)),
        sum_at(which, np.concatenate(units), len(frames)),
    )


def _leaves(capture: capture_pb2.Capture, binary_key: str) -> Int64:
    """For each stack its innermost frame if that is in the binary; else -1."""
    in_binary = np.array([image_of(capture, one).key == binary_key for one in capture.mappings] or [False])
    mapping = np.array(capture.frames.mapping, np.int64)
    length = np.array(capture.stacks.length, np.int64)
    first = np.cumsum(length) - length
    found = np.full(len(length), -1, np.int64)
    filled = np.flatnonzero(length)
    frames = np.array(capture.stacks.frames, np.int64)[first[filled]]
    kept = in_binary[mapping[frames]]
    found[filled[kept]] = frames[kept]
    return found


_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class SummedAddresses:
    """The leaf addresses of several captures, ascending by offset."""

    leaves: LeafAddresses
    weight: Float
    """Sum of the units of each capture times its weight."""


def summed(parts: Sequence[tuple[float, LeafAddresses]]) -> SummedAddresses:
    """The sums of captures, each with its weight."""
    columns = [
        np.concatenate([_NONE, *(getattr(leaves, name) for _, leaves in parts)])
        for name in ("offset", "function_start", "samples", "units")
    ]
    weights = np.concatenate([np.zeros(0), *(weight * leaves.units for weight, leaves in parts)])
    pairs, which = np.unique(np.stack(columns[:2]), axis=1, return_inverse=True)
    count = pairs.shape[1]
    return SummedAddresses(
        LeafAddresses(pairs[0], pairs[1], sum_at(which, columns[2], count), sum_at(which, columns[3], count)),
        weight_at(which, weights, count),
    )
