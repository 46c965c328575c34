"""Stacks and values out of the chunks that were read, however many they are."""

from collections.abc import Sequence

import numpy as np

from storage.arrays import Int64
from storage.blobs.fact_blobs import decode_many
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import Blobs

_AT_ONCE = 4096
"""Each is half a kilobyte of Python objects while it is decoded."""

FACT_BYTES = 48
"""Of a fact while a selection is added up: its columns, and what they are sorted by."""


def decode_chunks(parts: Sequence[Blobs], counts: Int64) -> tuple[Int64, Int64]:
    """Stack ids and values of all chunks of all parts, concatenated in order.

    `counts` are the rows of each. Raises CorruptChunk.
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
