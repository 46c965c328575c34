"""Decode stacks and values of any number of chunks."""

from collections.abc import Sequence

import numpy as np

from storage.arrays import Int64
from storage.blobs.fact_blobs import decode_many
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import Blobs

_AT_ONCE = 4096
"""Chunks decoded at once: each takes half a kilobyte of Python objects meanwhile."""

FACT_BYTES = 48
"""Memory per fact while a selection is summed: its columns, and their sort keys."""


def decode_chunks(parts: Sequence[Blobs], counts: Int64) -> tuple[Int64, Int64]:
    """Stack ids and values of all chunks of all parts, concatenated in order.

    `counts` are the rows of each chunk. Raises `CorruptChunk`.
    """
    query_budget.take(FACT_BYTES * int(counts.sum()))
    stacks, values = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    done = 0
    for blobs in parts:
        for first in range(0, len(blobs), _AT_ONCE):
            query_budget.checkpoint()
            some = blobs.views(first, first + _AT_ONCE)
            ids, each = decode_many(some, counts[done : done + len(some)])
            stacks.append(ids)
            values.append(each)
            done += len(some)
    return np.concatenate(stacks).astype(np.int64), np.concatenate(values)
