"""Moves new stacks from `stack` to `stack_sealed`, which takes a sixth of the bytes.

All of `stack_sealed` is rewritten, a piece per transaction with a vacuum in between, so that it grows by one piece
and does not double. A stack is in both tables until all have moved; then `stack` is truncated, exclusively
(`storage.dictionary_sweep.epochs`), while no ingestion is between a stack's lookup and its insertion. An interrupted
run leaves stacks in both tables, with the same ids.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select, text

from storage.dictionary_sweep.epochs import alone, the_only_one
from storage.errors import DatabaseBusy
from storage.ingest import sealed_stacks
from storage.ingest.copy_in import HEADER, TRAILER, copy_into, copy_stream
from storage.ingest.sealed_stacks import RECORDS, Records
from storage.ingest.stack_rows import ROW, binary_rows
from storage.schema import stack, stack_sealed

LEAST = 10_000
"""Minimum of new stacks to move; they must also be 1/`_SHARE` of those sealed, since every run rewrites all."""
_SHARE = 16
_ROWS = 400
"""Rows of `stack_sealed` per piece: 45 000 stacks, some 50 ms."""
_LOCK_MS = 1000
"""Timeout for the lock of `stack`, which blocks ingestions meanwhile: a dump holds it for hours."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of hashes without `end`; None: to the last."""

    begin: UUID
    end: UUID | None


def seal_stacks(
    engine: Engine, *, least: int | None = None, stopping: Callable[[], bool] = lambda: False
) -> int:
    """Move the new stacks if there are at least `least`; return their number.

    None: `LEAST`, and a sixteenth of those sealed. Does nothing while another process seals or sweeps. Raises
    `DatabaseError`.
    """
    with the_only_one(engine) as is_mine:
        if not is_mine:
            return 0
        with engine.connect() as connection:
            fresh = connection.scalar(select(func.count()).select_from(stack)) or 0
            sealed = (connection.scalar(select(func.count()).select_from(stack_sealed)) or 0) * RECORDS
            if fresh < (max(LEAST, sealed // _SHARE) if least is None else least):
                return 0
            pieces = pieces_of(connection)
        moved = []
        for piece in pieces:
            if stopping():
                return 0
            with engine.begin() as connection:
                moved.append(_seal(connection, piece))
            vacuum(engine)
        return _truncate(engine, np.concatenate(moved))


def pieces_of(connection: Connection) -> list[Piece]:
    """Ranges of all hashes, each with `_ROWS` rows of `stack_sealed`, or as many stacks if none is sealed."""
    cuts = list(connection.scalars(select(stack_sealed.c.low).order_by(stack_sealed.c.low)))[::_ROWS]
    if not cuts:
        fresh = connection.scalar(select(func.count()).select_from(stack)) or 0
        parts = 1 + fresh // (_ROWS * RECORDS)
        cuts = [UUID(int=(n << 128) // parts) for n in range(parts)]
    cuts[0] = UUID(int=0)
    return [Piece(begin, end) for begin, end in pairwise([*cuts, None])]


def read_fresh(connection: Connection, piece: Piece | None = None) -> npt.NDArray[np.void]:
    """The rows of `stack` in a piece, None: all; dtype `storage.ingest.stack_rows.ROW`."""
    where = "" if piece is None else f" WHERE hash >= '{piece.begin}'"
    where += "" if piece is None or piece.end is None else f" AND hash < '{piece.end}'"
    buffer = io.BytesIO()
    query = f"SELECT hash, stack_id FROM stack{where}"  # noqa: S608 - of hashes
    copy_stream(connection, f"COPY ({query}) TO STDOUT WITH (FORMAT binary)", buffer)
    return np.frombuffer(buffer.getbuffer()[len(HEADER) : -len(TRAILER)], ROW)


def read_sealed(connection: Connection, piece: Piece) -> Records:
    """The records of a piece, ascending."""
    low = stack_sealed.c.low
    rows = connection.scalars(
        select(stack_sealed.c.data).where(*within(stack_sealed.c.low, piece)).order_by(low)
    )
    return sealed_stacks.decode([bytes(row) for row in rows])


def write_sealed(connection: Connection, piece: Piece, records: Records) -> None:
    """Replace the records of a piece."""
    connection.execute(delete(stack_sealed).where(*within(stack_sealed.c.low, piece)))
    copy_into(connection, stack_sealed, ("low", "data"), sealed_stacks.rows_of(records))


def vacuum(engine: Engine) -> None:
    """Free the space of the previous piece for the next one."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM (SKIP_LOCKED, TRUNCATE FALSE, PARALLEL 0) stack_sealed"))


def _seal(connection: Connection, piece: Piece) -> npt.NDArray[np.int32]:
    """Copy the new stacks of a piece; return their ids."""
    fresh = read_fresh(connection, piece)
    sealed = read_sealed(connection, piece)
    ids = fresh["id"].astype(np.int32)
    records = sealed_stacks.merged(sealed, sealed_stacks.records_of(fresh["hash"].astype(np.uint64), ids))
    if len(records) > len(sealed):
        write_sealed(connection, piece, records)
    return ids


def _truncate(engine: Engine, moved: npt.NDArray[np.int32]) -> int:
    """Delete moved stacks from `stack`; return their number, 0 if the lock is not available."""
    try:
        with alone(engine) as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {_LOCK_MS}"))
            connection.execute(text("LOCK TABLE stack IN ACCESS EXCLUSIVE MODE"))
            rows = read_fresh(connection)
            stay = rows[~np.isin(rows["id"], moved)]
            connection.execute(text("TRUNCATE stack"))
            body = binary_rows(stay["id"].astype(np.int32), stay["hash"].astype(np.uint64))
            copy_stream(
                connection, "COPY stack (hash, stack_id) FROM STDIN WITH (FORMAT binary)", io.BytesIO(body)
            )
    except DatabaseBusy:
        return 0
    return len(rows) - len(stay)


def within(hashes: ColumnElement[UUID], piece: Piece) -> list[ColumnElement[bool]]:
    """SQL conditions: a column of hashes is in the piece."""
    return [hashes >= piece.begin, *([] if piece.end is None else [hashes < piece.end])]
