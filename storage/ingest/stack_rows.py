"""Insert new rows into the dictionary of stacks by the thousand: numbered, then copied.

Ids are drawn before the rows are inserted, in an order that the caller chooses: stacks of one program that occurred
together get adjacent ids, so a profile's sorted ids are close and its chunk is small. Rows are inserted in hash order,
the key order of this dictionary (see `interning`).
"""

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import psycopg2.errors
from sqlalchemy import Connection, text

from storage import stack_blocks
from storage.ingest.copy_in import HEADER, TRAILER, copy_into, copy_ints, copy_stream
from storage.ingest.sealed_stacks import FIND
from storage.ingest.stack_hash import Hashes
from storage.schema import stack_block

Ids = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

ROW = np.dtype([
    ("fields", ">i2"), ("hash_length", ">i4"), ("hash", ">u8", 2), ("id_length", ">i4"), ("id", ">i4"),
])  # fmt: skip
"""A row of `stack` in COPY's binary format."""

_ASKED = "asked_stacks"
_THERE = (
    f"SELECT a.n, d.stack_id FROM {_ASKED} a JOIN stack d ON d.hash = a.hash"  # noqa: S608 - names of the schema
    f" UNION ALL {FIND.format(columns='a.n', asked=_ASKED)}"
)
_FRESH = "fresh_stacks"
_COPY = "COPY {} (hash, stack_id) FROM STDIN WITH (FORMAT binary)"
_INSERT = f"""
    INSERT INTO stack (hash, stack_id) OVERRIDING SYSTEM VALUE
    SELECT hash, stack_id FROM {_FRESH} ORDER BY hash
    ON CONFLICT (hash) DO NOTHING
"""  # noqa: S608 - likewise
_NOTE = f"""
    INSERT INTO dictionary_touched (dictionary, id)
    SELECT 'stack', d.stack_id FROM ({_THERE}) d ORDER BY d.stack_id ON CONFLICT DO NOTHING
"""  # noqa: S608 - likewise


@dataclass(frozen=True, slots=True)
class StackRows:
    """Distinct stacks, in the order in which they get their ids."""

    asked: Int64s
    """The index of each among the requested stacks."""
    hashes: Hashes
    depth: Int64s
    function: npt.NDArray[np.int32]
    """Function ids outermost first, one stack after the other."""


def insert_stacks(connection: Connection, rows: StackRows, *, note: bool) -> Ids:
    """Ids of the stacks, in the order of `rows`; new stacks are inserted.

    With `note`, record existing stacks: a running sweep of the dictionaries may not have seen them in use.
    """
    # The temporary tables have no statistics; without these the planner may read the whole dictionary.
    connection.execute(text("SET LOCAL enable_hashjoin = off"))
    connection.execute(text("SET LOCAL enable_mergejoin = off"))
    connection.execute(
        text(f"CREATE TEMPORARY TABLE IF NOT EXISTS {_ASKED} (n int, hash uuid) ON COMMIT DELETE ROWS")
    )
    copy_stream(
        connection,
        f"COPY {_ASKED} (n, hash) FROM STDIN WITH (FORMAT binary)",
        io.BytesIO(b"".join((HEADER, _asked(rows.hashes), TRAILER))),
    )
    ids = np.full(len(rows.depth), -1, np.int32)
    _look_up(connection, ids)
    new = np.flatnonzero(ids < 0)
    if len(new):
        _insert(connection, ids, new, rows)
    if note:
        connection.execute(text(_NOTE))
    connection.execute(text(f"TRUNCATE {_ASKED}"))
    return ids


def _look_up(connection: Connection, ids: Ids) -> None:
    there = copy_ints(connection, _THERE, 2)
    ids[there[:, 0]] = there[:, 1]


def _insert(connection: Connection, ids: Ids, new: Int64s, rows: StackRows) -> None:
    """Insert the stacks at positions `new`, and set their ids.

    Ids are drawn for these alone: they have 31 bits, and workers look up existing stacks far more often than new ones.
    COPY takes a third of the time of INSERT … ON CONFLICT, which is used in the rare case that another worker has
    inserted one of them meanwhile.
    """
    numbers = copy_ints(
        connection,
        f"SELECT nextval('stack_stack_id_seq')::int FROM generate_series(1, {len(new)})",  # noqa: S608 - a number
        1,
    )[:, 0].astype(np.int32)
    # All workers insert in hash order, so they cannot deadlock.
    by_hash = np.lexsort((rows.hashes[new, 1], rows.hashes[new, 0]))
    body = binary_rows(numbers[by_hash], rows.hashes[new[by_hash]])
    try:
        with connection.begin_nested():
            copy_stream(connection, _COPY.format("stack"), io.BytesIO(body))
    except psycopg2.errors.UniqueViolation:
        connection.execute(
            text(
                f"CREATE TEMPORARY TABLE IF NOT EXISTS {_FRESH} (hash uuid, stack_id int) ON COMMIT DELETE ROWS"
            )
        )
        copy_stream(connection, _COPY.format(_FRESH), io.BytesIO(body))
        connection.execute(text(_INSERT))
        connection.execute(text(f"TRUNCATE {_FRESH}"))
        _look_up(connection, ids)
        new = new[ids[new] == numbers]
    else:
        ids[new] = numbers
    _insert_blocks(connection, ids, new, rows)


def _insert_blocks(connection: Connection, ids: Ids, new: Int64s, rows: StackRows) -> None:
    """Insert the functions of the stacks at positions `new`, which this transaction inserted."""
    by_id = new[np.argsort(ids[new])]
    mine = _at(rows, by_id)
    blocks = stack_blocks.encode(ids[by_id].astype(np.int64), mine.depth, mine.function)
    copy_into(
        connection,
        stack_block,
        ("block", "first_id", "stacks", "data"),
        [(block.block, block.first_id, block.stacks, block.data) for block in blocks],
    )


def _at(rows: StackRows, places: Int64s) -> StackRows:
    depth = rows.depth[places]
    start = (np.cumsum(rows.depth) - rows.depth)[places]
    within = np.arange(int(depth.sum())) - np.repeat(np.cumsum(depth) - depth, depth)
    return StackRows(
        rows.asked[places], rows.hashes[places], depth, rows.function[np.repeat(start, depth) + within]
    )


def _asked(hashes: Hashes) -> bytes:
    """(position, hash) of every stack in COPY's binary format: a count of fields, then lengths and values."""
    rows = np.empty((len(hashes), 7), ">u4")
    # In index order, so that each page of the index is read once.
    order = np.argsort(hashes[:, 0])
    rows[:, 0], rows[:, 1], rows[:, 2] = 4, order, 16
    rows[:, 3:] = hashes[order].astype(">u8").view(">u4").reshape(-1, 4)
    halves = np.empty((len(hashes), 15), ">u2")
    halves[:, 0], halves[:, 1:] = 2, rows.view(">u2")
    return halves.tobytes()


def binary_rows(numbers: Ids, hashes: Hashes) -> bytes:
    """Rows of `stack` as a stream in COPY's binary format."""
    rows = np.empty(len(numbers), ROW)
    rows["fields"], rows["hash_length"], rows["id_length"] = 2, 16, 4
    rows["hash"], rows["id"] = hashes, numbers
    return b"".join((HEADER, rows.tobytes(), TRAILER))
