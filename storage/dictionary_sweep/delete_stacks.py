"""Deleting stacks: of each block that holds some nobody uses, the others are written anew."""

import logging
from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection, Engine, select, text, tuple_
from sqlalchemy import delete as delete_from

from storage import stack_blocks
from storage.dictionary_sweep.epochs import alone
from storage.dictionary_sweep.marks import Int64s, Marks
from storage.landing.copying import copy_into
from storage.landing.errors import CorruptChunk
from storage.landing.stack_hash import Hashes, hash_runs
from storage.rolling.sorting import ranges
from storage.schema import stack_block

_log = logging.getLogger(__name__)
_BLOCKS = 40
"""Looked at in one transaction: some 10 000 stacks, a fifth of a second in which no landing begins."""
_DELETE = text(
    "DELETE FROM stack s USING unnest(cast(:hashes AS uuid[]), cast(:ids AS int[])) AS gone (hash, id)"
    " WHERE s.hash = gone.hash AND s.stack_id = gone.id"
)


def delete_unused_stacks(
    engine: Engine, epoch: int, highest: int, *, marks: Marks, between: Callable[[], None]
) -> int:
    """Delete the stacks up to `highest` that are neither marked nor touched; the number of them.

    Blocks beside a damaged one stay. Raises `SweepOvertaken`.
    """
    deleted = 0
    for low in range(0, highest // stack_blocks.SPAN + 1, _BLOCKS):
        try:
            with engine.connect() as connection:
                ids, *_ = _read(connection, low)
            if len(marks.unused("stack", ids[ids <= highest])):
                with alone(engine, epoch) as connection:
                    deleted += _delete(connection, low, highest, marks)
        except CorruptChunk as error:
            _log.warning("stacks that cannot be read stay: blocks=%d… why=%s", low, error)
        between()
    return deleted


def _read(
    connection: Connection, low: int
) -> tuple[Int64s, np.ndarray[tuple[int], np.dtype[np.int32]], Int64s, list[tuple[int, int]]]:
    """The stacks of some blocks, and those blocks' keys."""
    c = stack_block.c
    found = connection.execute(
        select(c.block, c.first_id, c.stacks, c.data).where(c.block >= low, c.block < low + _BLOCKS)
        .order_by(c.block, c.first_id)
    ).all()  # fmt: skip
    first, stacks = (np.array([row[i] for row in found], np.int64) for i in (1, 2))
    return *stack_blocks.decode(first, stacks, [row.data for row in found]), [
        (row.block, row.first_id) for row in found
    ]


def _delete(connection: Connection, low: int, highest: int, marks: Marks) -> int:
    ids, function, depth, keys = _read(connection, low)
    unused = marks.unused("stack", ids[ids <= highest])
    touched = connection.scalars(
        text("SELECT id FROM dictionary_touched WHERE dictionary = 'stack' AND id = ANY(:ids)"),
        {"ids": unused.tolist()},
    )
    gone = np.isin(ids, np.setdiff1d(unused, np.array(list(touched), np.int64)))
    if not gone.any():
        return 0
    first = np.cumsum(depth) - depth
    dead = np.flatnonzero(gone)
    # A hash is of the functions innermost first.
    innermost_first = function[ranges(first[dead], depth[dead])][::-1]
    hashes = hash_runs(
        innermost_first,
        np.arange(len(innermost_first)),
        np.concatenate(([0], np.cumsum(depth[dead][::-1]))),
    )[::-1]
    parameters = {"hashes": _uuids(hashes), "ids": ids[dead].tolist()}
    if connection.execute(_DELETE, parameters).rowcount < len(dead):
        # Some hash is not that of its functions, so something is damaged: there is no index of ids, all are read.
        connection.execute(text("DELETE FROM stack WHERE stack_id = ANY(:ids)"), parameters)
    c = stack_block.c
    connection.execute(delete_from(stack_block).where(tuple_(c.block, c.first_id).in_(keys)))
    kept = np.flatnonzero(~gone)
    kept = kept[np.argsort(ids[kept])]  # two blocks of landings at the same time may interleave
    left = stack_blocks.encode(ids[kept], depth[kept], function[ranges(first[kept], depth[kept])])
    rows = [(block.block, block.first_id, block.stacks, block.data) for block in left]
    copy_into(connection, stack_block, ("block", "first_id", "stacks", "data"), rows)
    return len(dead)


def _uuids(hashes: Hashes) -> list[str]:
    data = np.ascontiguousarray(hashes).astype(">u8").tobytes()
    return [data[at : at + 16].hex() for at in range(0, len(data), 16)]
