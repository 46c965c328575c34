"""The dictionary of stacks in a test: one more in it, all there are, and those that can be looked up."""

from collections.abc import Sequence
from uuid import uuid4

import numpy as np
from sqlalchemy import Connection, insert, select

from storage import stack_blocks
from storage.ingest import sealed_stacks
from storage.schema import stack, stack_block, stack_sealed
from storage.snapshots.stack_reading import read_stacks


def add_stack(connection: Connection, frames: Sequence[int]) -> int:
    """A new id for these functions, outermost first."""
    id_ = connection.execute(insert(stack).values(hash=uuid4()).returning(stack.c.stack_id)).scalar_one()
    [block] = stack_blocks.encode(
        np.array([id_], np.int64), np.array([len(frames)], np.int64), np.array(frames, np.int64)
    )
    row = {"block": block.block, "first_id": block.first_id, "stacks": 1, "data": block.data}
    connection.execute(insert(stack_block).values(row))
    return int(id_)


def functions_by_stack(connection: Connection) -> dict[int, list[int]]:
    """The functions of every stack, outermost first."""
    ids, function, lengths = read_stacks(connection, None, limit=1 << 30)
    ends = np.cumsum(lengths)[:-1] if len(lengths) else []
    parts = np.split(function, ends) if len(lengths) else []
    return {id_: part.tolist() for id_, part in zip(ids.tolist(), parts, strict=True)}


def hashed_stacks(connection: Connection) -> set[int]:
    """The ids of the stacks in the hash table, sealed or not."""
    rows = [bytes(row) for row in connection.scalars(select(stack_sealed.c.data))]
    return set(connection.scalars(select(stack.c.stack_id))) | set(
        sealed_stacks.decode(rows)["stack_id"].tolist()
    )
