"""Rows of a visit besides samples: how long it observed each event, and its binaries."""

from collections.abc import Sequence

import numpy as np

from fleetpb import capture_pb2
from storage.arrays import sum_at
from storage.ingest.binary_images import image_of
from storage.ingest.counter_rows import STATUS, watched_s
from storage.ingest.function_stacks import first_of_equal
from storage.ingest.hash_table import Int64s
from storage.ingest.interning import Interner
from storage.ingest.symbolized import ResolvedFrames, Status
from storage.ingest.table_rows import TableRows, VisitFacts
from storage.schema import capture_binary, capture_segment

_INT8_MAX = (1 << 63) - 1
_BITS = 64
_FEW_IMAGES = 1024
"""With more images, a table of (stack, image) is sorted: 64 images take a pass over all frames, and a capture may have
half a million mappings."""


def segment_rows(
    visit: VisitFacts, capture: capture_pb2.Capture, sample_types: Sequence[int | None]
) -> TableRows:
    """One row per segment, also for events that could not be sampled; `sample_types` has None for those."""
    rows = TableRows(
        capture_segment,
        ("visit_id", "segment", "day", "event", "sample_type_id", "stacks", "source", "status", "errno", "seconds",
         "period", "requested_period", "thinned_why", "samples", "lost"),
    )  # fmt: skip
    strings = capture.strings
    for number, (segment, sample_type) in enumerate(zip(capture.segments, sample_types, strict=True)):
        rows.add(
            visit.visit_id, number, visit.day, strings[segment.event], sample_type, segment.stacks,
            strings[segment.source], STATUS.get(segment.support, "unsupported"), segment.errno,
            watched_s(segment), _int8(segment.period), _int8(segment.requested_period),
            strings[segment.thinned_why], segment.samples, _int8(sum(segment.lost)) if segment.lost else None,
        )  # fmt: skip
    return rows


def binary_rows(
    interner: Interner,
    visit: VisitFacts,
    capture: capture_pb2.Capture,
    resolved: ResolvedFrames,
    per_stack: Int64s,
) -> TableRows:
    """The images in the samples' stacks, and where names are missing.

    `per_stack` has for every stack its samples, and in a second row its nanoseconds of CPU.
    """
    rows = TableRows(
        capture_binary,
        ("binary_id", "visit_id", "day", "samples", "unresolved", "cpu_ns", "unresolved_cpu_ns"),
    )
    images = [image_of(capture, mapping) for mapping in capture.mappings]
    kept = [i for i, image in enumerate(images) if image.kind not in {"anonymous", "unknown"}]
    if not kept:
        return rows
    # Two mappings can be one image: a file and its deleted version, known by path only.
    first = {images[i].key: images[i] for i in reversed(kept)}
    number = {key: n for n, key in enumerate(first)}
    index = np.full(len(images), -1, np.int64)
    index[kept] = [number[images[i].key] for i in kept]
    image = index[np.array(capture.frames.mapping, np.int64)]
    nameless = np.where(resolved.status < Status.SYMTAB, image, -1)
    frames, length = np.array(capture.stacks.frames, np.int64), np.array(capture.stacks.length, np.int64)
    samples = _samples_through(image, frames, length, per_stack, len(first))
    unresolved = np.zeros_like(samples)
    if (nameless >= 0).any():
        unresolved = _samples_through(nameless, frames, length, per_stack, len(first))
    ids = interner.binaries(list(first.values())).tolist()
    numbers = np.stack((samples[0], unresolved[0], samples[1], unresolved[1]), axis=1).tolist()
    for id_, (through, without, *cpu_ns) in zip(ids, numbers, strict=True):
        if through:
            rows.add(id_, visit.visit_id, visit.day, through, without, *cpu_ns)
    return rows


def _samples_through(image: Int64s, frames: Int64s, length: Int64s, per_stack: Int64s, images: int) -> Int64s:
    """Sums of `per_stack` over the stacks with a frame in each image; a stack counts once. Shape (2, images).

    `image` has for every frame of the table its image, or −1; `frames` and `length` are the stacks.
    """
    total = np.zeros((2, images), np.int64)
    filled = np.flatnonzero(length)
    if not len(filled):
        return total
    if images > _FEW_IMAGES:
        place = np.repeat(np.arange(len(length)), length) * images
        which = image[frames]
        place = np.sort((place + which)[which >= 0])  # np.unique takes ten times as long
        stack, which = np.divmod(place[first_of_equal(place)], images)
        return np.stack([sum_at(which, values, images) for values in per_stack[:, stack]])
    starts = (np.cumsum(length) - length)[filled]
    # One bit per image, so one pass over a stack's frames yields its images.
    for first in range(0, images, _BITS):
        bit = np.zeros(len(image), np.uint64)
        here = np.flatnonzero((image >= first) & (image < first + _BITS))
        bit[here] = np.uint64(1) << (image[here] - first).astype(np.uint64)
        # There are few distinct sets of images, each shared by many stacks.
        sets, of = np.unique(np.bitwise_or.reduceat(bit.take(frames), starts), return_inverse=True)
        bits = np.unpackbits(sets.astype("<u8").view(np.uint8), bitorder="little")
        one, which = np.divmod(np.flatnonzero(bits.view(bool)), _BITS)
        mine = slice(first, min(first + _BITS, images))
        for row, values in zip(total, per_stack[:, filled], strict=True):
            row[mine] = sum_at(which, sum_at(of, values, len(sets))[one], mine.stop - first)
    return total


def _int8(value: int) -> int:
    return min(value, _INT8_MAX)
