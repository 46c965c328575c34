"""Blocks: stacks with neighbouring ids in one blob (`stack_block.data`).

Ids are assigned by program in the order in which stacks occur. So a block's stacks are of one program and share
prefixes: compressed together, 256 stacks of 22 functions take 13 bytes each, 16 together take 25; the uncompressed
function ids alone take 50. Stacks of a synthetic fleet, in blocks as ingested, take 24.

    data = one zstd frame of: deltas of the ids · depths · function ids outermost first, one stack after the other

all as numbers of 7 bits per byte (`storage.frames`). A block has ids of the same `id // SPAN`, but not necessarily all
of them: each insertion of an ingestion makes its own block.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import zstandard

from storage import frames
from storage.arrays import group_starts, runs
from storage.errors import CorruptChunk

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

SPAN = 256
_MOST_BYTES = 1 << 22
"""Limit of an unpacked block: 256 stacks of 128 functions of 5 bytes take a twentieth of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A row of `stack_block`."""

    block: int
    """id // SPAN of all its stacks."""
    first_id: int
    stacks: int
    data: bytes


def encode(ids: Int64s, depth: Int64s, function: npt.NDArray[np.integer]) -> list[Block]:
    """Blocks of stacks with ascending ids; functions are concatenated, outermost first."""
    if not len(ids):
        return []
    cuts = [*group_starts(ids // SPAN).tolist(), len(ids)]
    ends = np.concatenate(([0], np.cumsum(depth)))
    parts: list[npt.NDArray[np.integer]] = []
    for low, high in itertools.pairwise(cuts):
        steps = np.diff(ids[low:high], prepend=ids[low])
        parts += (steps, depth[low:high], function[ends[low] : ends[high]])
    sizes = np.array([len(part) for part in parts], np.int64).reshape(-1, 3).sum(axis=1)
    packed, lengths = frames.pack(np.concatenate(parts), sizes)
    data = packed.tobytes()
    bounds = np.concatenate(([0], np.cumsum(lengths))).tolist()
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=False, write_content_size=True)
    return [
        Block(int(ids[low]) // SPAN, int(ids[low]), high - low, compressor.compress(data[begin:end]))
        for (low, high), (begin, end) in zip(
            itertools.pairwise(cuts), itertools.pairwise(bounds), strict=True
        )
    ]


def decode(
    first_id: Int64s, stacks: Int64s, blobs: Sequence[bytes | memoryview]
) -> tuple[Int64s, Int32s, Int64s]:
    """(ids, concatenated functions, depths) of the blocks' stacks, in their order.

    Raises `CorruptChunk`.
    """
    if not blobs:
        return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    decompressor = zstandard.ZstdDecompressor()
    payloads = [_unpacked(decompressor, blob) for blob in blobs]
    sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
    try:
        values, lengths = frames.unpack(b"".join(payloads), sizes)
    except ValueError as error:
        raise CorruptChunk(f"cannot unpack stacks: {error}") from error
    if (stacks < 1).any() or (2 * stacks > lengths).any():
        raise CorruptChunk("a block contains fewer stacks than stated")
    begin = np.cumsum(lengths) - lengths
    steps = values[runs(begin, stacks)].astype(np.int64)
    depth = values[runs(begin + stacks, stacks)].astype(np.int64)
    functions = lengths - 2 * stacks
    lead = np.cumsum(stacks) - stacks
    if (np.add.reduceat(depth, lead) != functions).any():
        raise CorruptChunk("the depths of a block's stacks are inconsistent")
    ids = np.cumsum(steps)
    ids += np.repeat(first_id - ids[lead], stacks)
    return ids, values[runs(begin + 2 * stacks, functions)], depth


def _unpacked(decompressor: zstandard.ZstdDecompressor, blob: bytes | memoryview) -> bytes:
    try:
        if not 0 <= zstandard.frame_content_size(blob) <= _MOST_BYTES:
            raise CorruptChunk("a block of stacks states an impossible size")
        return decompressor.decompress(blob)
    except zstandard.ZstdError as error:
        raise CorruptChunk(f"cannot decompress a block of stacks: {error}") from error
