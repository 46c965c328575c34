"""Read rows from PostgreSQL by COPY BINARY: three times faster for chunks than fetching them.

COPY takes no parameters, so the statement is rendered with psycopg2's own quoting of every value; no text of a caller
is ever pasted into SQL. Everything else, from compiling statements to translating errors, is done by SQLAlchemy as
usual.
"""

import io
import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ExecutionContext,
    Integer,
    LargeBinary,
    Select,
    SmallInteger,
    Uuid,
    any_,
    bindparam,
    cast,
    event,
)
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.types import TypeEngine

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.snapshots import query_budget

_HEADER = 19
"""Signature, flags and an empty extension (PostgreSQL documentation, COPY, Binary Format)."""
_TRAILER = 2
_INTO = "fleetprof_copy_into"
"""Execution option: the buffer that a statement's rows are copied into."""
_AT_A_TIME = 1 << 16
"""Bytes taken ahead from a query's budget."""
_KINDS: tuple[tuple[type[TypeEngine[Any]], str], ...] = (
    (SmallInteger, ">i2"),  # before Integer, its base
    (BigInteger, ">i8"),
    (Integer, ">i4"),
    (Double, ">f8"),
    (Boolean, "?"),
    (Uuid, "V16"),
)
"""Column types of fixed width, with their numpy types."""

Parameters = Mapping[str, Any]
"""Values by name of the statement's bind parameters."""


class Blobs:
    """Byte values in one buffer."""

    def __init__(self, buffer: memoryview, starts: Int64, lengths: Int64) -> None:
        self._buffer = buffer
        self._starts = starts
        self._lengths = lengths

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def lengths(self) -> Int64:
        """Bytes of each."""
        return self._lengths

    def of(self, places: Int64) -> "Blobs":
        """Some of the values."""
        return Blobs(self._buffer, self._starts[places], self._lengths[places])

    def views(self, first: int, end: int) -> list[memoryview]:
        """Some of the values as views; each takes 200 bytes of Python objects besides its own."""
        some = slice(first, end)
        bounds = zip(self._starts[some].tolist(), self._lengths[some].tolist(), strict=True)
        return [self._buffer[start : start + length] for start, length in bounds]


NO_BLOBS = Blobs(memoryview(b""), np.zeros(0, np.int64), np.zeros(0, np.int64))


class Rows:
    """Rows of fixed-width columns and, if selected, one byte value each."""

    def __init__(self, count: int, columns: Mapping[str, Any], blobs: Blobs = NO_BLOBS) -> None:
        self._count = count
        self._columns = columns
        self.blobs = blobs

    def __len__(self) -> int:
        return self._count

    def ints(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A column as int64."""
        return np.array(self._columns[name], np.int64)

    def floats(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A column as float64."""
        return np.array(self._columns[name], np.float64)

    def uuids(self, name: str) -> np.ndarray[Any, np.dtype[np.bytes_]]:
        """A column of UUIDs as 16 bytes each, which can be sorted and compared."""
        column = self._columns[name]
        return (
            np.ascontiguousarray(column).view("S16")
            if isinstance(column, np.ndarray)
            else np.array(column, "S16")
        )

    def values(self, name: str) -> list[Any]:
        """A column as Python values; a UUID is its 16 bytes."""
        column = self._columns[name]
        return column.tolist() if isinstance(column, np.ndarray) else list(column)


class TooMuch(BadSelection):
    """A selection has more data than one query may read."""


class _Bounded(io.BytesIO):
    """A buffer that stops a COPY at a size limit."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit
        self._size = 0
        self._taken = 0
        """Bytes taken from the query's budget."""

    def write(self, data: Any, /) -> int:
        """Append a row; called once per row."""
        self._size += len(data)
        if self._size > self._taken or self._size > self._limit:
            self._take()
        return super().write(data)

    def _take(self) -> None:
        if self._size > self._limit:
            raise TooMuch(
                f"The query reads more than {self._limit >> 20} MiB of samples.",
                hint='Choose a shorter time range or add a matcher, e.g. application="…".',
            )
        more = self._size - self._taken + _AT_A_TIME
        query_budget.take(more)
        self._taken += more


def among(column: Column[Any], ids: Sequence[int]) -> ColumnElement[bool]:
    """The column is one of these ids, which are passed as one parameter, whatever their number."""
    return column == any_(cast(list(ids), ARRAY(Integer)))


def among_uuids(column: Column[Any], ids: Sequence[bytes]) -> ColumnElement[bool]:
    """As `among`, for UUIDs given as 16 bytes each, which numpy returns without trailing zeros."""
    return column == any_(cast([id_.ljust(16, b"\0").hex() for id_ in ids], ARRAY(Uuid)))


def among_given(column: Column[Any], name: str) -> ColumnElement[bool]:
    """As `among`, for ids given as the parameter `name` when the statement is executed."""
    return column == any_(cast(bindparam(name, type_=ARRAY(Integer)), ARRAY(Integer)))


def copy_out(
    connection: Connection,
    statement: Select[Any] | ReturningDelete[Any],
    parameters: Parameters | None = None,
    *,
    limit: int,
) -> memoryview:
    """The rows of a SELECT, or those that a DELETE returns, in PostgreSQL's binary format, without header and trailer.

    Executing a prebuilt statement with `parameters` costs a third of building one each time. Raises `BadSelection`
    beyond `limit` bytes, `storage.errors.DatabaseError`.
    """
    query_budget.checkpoint()
    buffer = _Bounded(limit)
    # Executed like any other statement, so that it is compiled once: compiling took longer than the rows of a small
    # query.
    connection.execute(statement, parameters, execution_options={_INTO: buffer}).close()
    if not buffer.tell():  # COPY writes a header even without rows
        raise TypeError("copying rows needs an engine that `allow_copying` was called for")
    return buffer.getbuffer()[_HEADER:-_TRAILER]


def allow_copying(engine: Engine) -> None:
    """Make this engine execute the statements of `copy_out` as COPY."""
    event.listen(engine, "do_execute", _copied)


def _copied(cursor: Any, statement: str, parameters: Any, context: ExecutionContext | None) -> bool:
    """Handle `do_execute`: copy the rows of a statement that has a target buffer."""
    into = None if context is None else context.execution_options.get(_INTO)
    if into is None:
        return False
    query = cursor.mogrify(statement, parameters)
    cursor.copy_expert(b"COPY (" + query + b") TO STDOUT WITH (FORMAT binary)", into, size=1 << 18)
    return True


def read_rows(
    connection: Connection, statement: Select[Any], parameters: Parameters | None = None, *, limit: int
) -> Rows:
    """The rows of a statement whose columns are non-null and of fixed width, except the last, which is bytes.

    No Python objects remain per row. A kilobyte of them per profile of a growing query was the cause of the API's
    growth: Python keeps a memory arena as long as one object in it lives.
    """
    *fixed, last = list(statement.selected_columns)
    if not isinstance(last.type, LargeBinary):
        raise TypeError("the last column must be bytes")
    head = np.dtype([*_fields(fixed), ("length", ">i4")])
    buffer = copy_out(connection, statement, parameters, limit=limit)
    starts = array("q")
    at, size, length_at = 0, head.itemsize, struct.Struct(">i").unpack_from
    while at < len(buffer):
        starts.append(at)
        at += size + length_at(buffer, at + size - 4)[0]
    first = np.array(starts, np.int64)
    if not len(first):
        return Rows(0, {column.name: [] for column in fixed})
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(buffer, np.uint8), size)
    heads = windows[first].view(head)[:, 0]
    blobs = Blobs(buffer, first + size, heads["length"].astype(np.int64))
    return Rows(len(first), {column.name: heads[column.name] for column in fixed}, blobs)


def read_fixed(
    connection: Connection, statement: Select[Any], parameters: Parameters | None = None, *, limit: int
) -> Rows:
    """The rows of a statement whose columns are all non-null and of fixed width; no Python objects per row."""
    columns = list(statement.selected_columns)
    rows = np.frombuffer(copy_out(connection, statement, parameters, limit=limit), np.dtype(_fields(columns)))
    return Rows(len(rows), {column.name: rows[column.name] for column in columns})


def _fields(columns: Sequence[ColumnElement[Any]]) -> list[tuple[str, str]]:
    """The numpy type of a row's start: the number of fields, then each field's length and value."""
    fields = [("count", ">i2")]
    for column in columns:
        kind = next(kind for type_, kind in _KINDS if isinstance(column.type, type_))
        fields += [(f"length of {column.name}", ">i4"), (column.name, kind)]
    return fields
