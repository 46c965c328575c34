"""Read stacks from the dictionary, which stores a block of adjacent stacks per row."""

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from storage import stack_blocks
from storage.schema import stack_block
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import among, read_rows

_TOGETHER = 2048
"""Blocks unpacked at a time, because a query may need few stacks of many blocks."""


def read_stacks(
    connection: Connection, ids: npt.NDArray[np.int64] | None, *, limit: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """(ids, functions of one stack after the other, outermost first, number of each) of the existing ones.

    All stacks for None. Raises `CorruptChunk` for a damaged block, `BadSelection` beyond `limit` bytes.
    """
    c = stack_block.c
    statement = select(c.first_id, c.stacks, c.data)
    if ids is not None:
        statement = statement.where(among(c.block, np.unique(ids // stack_blocks.SPAN).tolist()))
    rows = read_rows(connection, statement, limit=limit)
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    first, stacks = rows.ints("first_id"), rows.ints("stacks")
    parts = []
    for low in range(0, len(rows), _TOGETHER):
        query_budget.checkpoint()
        some = slice(low, low + _TOGETHER)
        found, function, lengths = stack_blocks.decode(
            first[some], stacks[some], rows.blobs.views(low, low + _TOGETHER)
        )
        if ids is not None:
            asked = np.isin(found, ids)
            found, function, lengths = found[asked], function[np.repeat(asked, lengths)], lengths[asked]
        parts.append((found, function, lengths))
    ids_found, functions, counts = zip(*parts, strict=True)
    return np.concatenate(ids_found), np.concatenate(functions), np.concatenate(counts)
