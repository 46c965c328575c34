"""Deletes stacks: first from the hash table, then their functions.

Blocks of functions and pieces of `stack_sealed` with unused stacks are rewritten without these. An ingestion never
finds a stack that is not in the hash table. If a sweep ends between the two steps, the next one deletes the functions.
"""

import logging
from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection, Engine, select, text, tuple_
from sqlalchemy import delete as delete_from

from storage import stack_blocks
from storage.arrays import runs
from storage.dictionary_sweep.epochs import alone
from storage.dictionary_sweep.marks import Int64s, Marks
from storage.dictionary_sweep.seal_stacks import (
    Piece,
    pieces_of,
    read_fresh,
    read_sealed,
    vacuum,
    within,
    write_sealed,
)
from storage.errors import CorruptChunk
from storage.ingest.copy_in import copy_into
from storage.ingest.sealed_stacks import Records, records_of
from storage.schema import stack, stack_block

_log = logging.getLogger(__name__)
_BLOCKS = 40
"""Blocks per transaction: some 10 000 stacks; it blocks new ingestions for a fifth of a second."""


def forget_unused_stacks(
    engine: Engine, epoch: int, highest: int, *, marks: Marks, between: Callable[[], None]
) -> int:
    """Delete the stacks up to `highest` that are neither marked nor touched from the hash table; return their number.

    Raises `SweepOvertaken`.
    """
    deleted = 0
    with engine.connect() as connection:
        pieces = pieces_of(connection)
    for piece in pieces:
        with engine.connect() as connection:
            ids = np.concatenate([found["stack_id"] for found in _hashed(connection, piece)]).astype(np.int64)
        if len(marks.unused("stack", ids[ids <= highest])):
            with alone(engine, epoch) as connection:
                deleted += _forget(connection, piece, highest, marks)
            vacuum(engine)
        between()
    return deleted


def _hashed(connection: Connection, piece: Piece) -> tuple[Records, Records]:
    """The sealed and the unsealed stacks in a piece of the hash table."""
    fresh = read_fresh(connection, piece)
    return read_sealed(connection, piece), records_of(fresh["hash"].astype(np.uint64), fresh["id"])


def _forget(connection: Connection, piece: Piece, highest: int, marks: Marks) -> int:
    sealed, fresh = _hashed(connection, piece)
    ids = np.union1d(sealed["stack_id"], fresh["stack_id"]).astype(np.int64)
    gone = _untouched(connection, marks.unused("stack", ids[ids <= highest]))
    stay = sealed[~np.isin(sealed["stack_id"], gone)]
    if len(stay) < len(sealed):
        write_sealed(connection, piece, stay)
    dead = np.intersect1d(fresh["stack_id"], gone).tolist()
    connection.execute(delete_from(stack).where(stack.c.stack_id.in_(dead), *within(stack.c.hash, piece)))
    return len(gone)


def _untouched(connection: Connection, unused: Int64s) -> Int64s:
    """The stacks that no ingestion has looked up since the sweep began."""
    touched = connection.scalars(
        text("SELECT id FROM dictionary_touched WHERE dictionary = 'stack' AND id = ANY(:ids)"),
        {"ids": unused.tolist()},
    )
    return np.setdiff1d(unused, np.array(list(touched), np.int64))


def delete_unused_stacks(
    engine: Engine, epoch: int, highest: int, *, marks: Marks, between: Callable[[], None]
) -> None:
    """Delete the functions of the stacks up to `highest` that are neither marked nor touched.

    Call it after `forget_unused_stacks`. Blocks read together with a damaged one stay. Raises `SweepOvertaken`.
    """
    for low in range(0, highest // stack_blocks.SPAN + 1, _BLOCKS):
        try:
            with engine.connect() as connection:
                ids, *_ = _read(connection, low)
            if len(marks.unused("stack", ids[ids <= highest])):
                with alone(engine, epoch) as connection:
                    _delete(connection, low, highest, marks)
        except CorruptChunk as error:
            _log.warning("unreadable stacks are not deleted: blocks=%d… why=%s", low, error)
        between()


def _read(
    connection: Connection, low: int
) -> tuple[Int64s, np.ndarray[tuple[int], np.dtype[np.int32]], Int64s, list[tuple[int, int]]]:
    """The stacks of some blocks, and the keys of these blocks."""
    c = stack_block.c
    found = connection.execute(
        select(c.block, c.first_id, c.stacks, c.data).where(c.block >= low, c.block < low + _BLOCKS)
        .order_by(c.block, c.first_id)
    ).all()  # fmt: skip
    first, stacks = (np.array([row[i] for row in found], np.int64) for i in (1, 2))
    return *stack_blocks.decode(first, stacks, [row.data for row in found]), [
        (row.block, row.first_id) for row in found
    ]


def _delete(connection: Connection, low: int, highest: int, marks: Marks) -> None:
    ids, function, depth, keys = _read(connection, low)
    gone = np.isin(ids, _untouched(connection, marks.unused("stack", ids[ids <= highest])))
    if not gone.any():
        return
    first = np.cumsum(depth) - depth
    c = stack_block.c
    connection.execute(delete_from(stack_block).where(tuple_(c.block, c.first_id).in_(keys)))
    kept = np.flatnonzero(~gone)
    kept = kept[np.argsort(ids[kept])]  # blocks of concurrent ingestions may interleave
    left = stack_blocks.encode(ids[kept], depth[kept], function[runs(first[kept], depth[kept])])
    rows = [(block.block, block.first_id, block.stacks, block.data) for block in left]
    copy_into(connection, stack_block, ("block", "first_id", "stacks", "data"), rows)
