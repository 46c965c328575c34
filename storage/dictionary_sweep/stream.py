"""Streams any number of rows through a buffer of two megabytes, for single-pass readers.

COPY BINARY delivers row by row; rows are collected until a batch is full, and then split into columns. The consumer
sets the pace: while it works or pauses, the server waits.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, Connection, Integer, LargeBinary, Select, SmallInteger
from sqlalchemy.dialects.postgresql import psycopg2

from storage.database import translated

BATCH_BYTES = 2 << 20
"""Chunks of this size have a few million facts, which take some forty bytes each while they are decoded."""
_HEADER, _TRAILER = 19, 2
_DIALECT = psycopg2.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves its dialects untyped
Int64: TypeAlias = npt.NDArray[np.int64]


class Batch:
    """A batch of rows: integer columns by position, and the last column's bytes if it is not an integer."""

    def __init__(self, heads: npt.NDArray[Any], blobs: list[bytes]) -> None:
        self._heads = heads
        self.blobs = blobs

    def __len__(self) -> int:
        return len(self._heads)

    def ints(self, column: int) -> Int64:
        """A column of integers."""
        values: Int64 = self._heads[f"value{column}"].astype(np.int64)
        return values


def stream(
    connection: Connection,
    statement: Select[Any],
    consume: Callable[[Batch], None],
    *,
    batch_bytes: int = BATCH_BYTES,
) -> None:
    """Pass every row of a statement to `consume`, in batches of about `batch_bytes`.

    Columns are non-null integers; the last may be bytes. An exception from `consume` ends the stream. Raises
    `storage.errors.DatabaseError`.
    """
    compiled = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    gathering = Gathering([column.type for column in statement.selected_columns], consume, batch_bytes)
    with translated(), closing(connection.connection.cursor()) as cursor:
        query = cursor.mogrify(compiled.string, compiled.params)
        cursor.copy_expert(b"COPY (" + query + b") TO STDOUT WITH (FORMAT binary)", gathering)
    gathering.close()


class Gathering:
    """The file that COPY writes to: one row per call, the first one behind the header (libpq, PQgetCopyData)."""

    def __init__(self, types: Sequence[Any], consume: Callable[[Batch], None], batch_bytes: int) -> None:
        fields = [("fields", ">i2")]
        self._has_blob = isinstance(types[-1], LargeBinary)
        for n, type_ in enumerate(types[:-1] if self._has_blob else types):
            fields += [(f"length{n}", ">i4"), (f"value{n}", _integer(type_))]
        if self._has_blob:
            fields.append(("blob", ">i4"))
        self._head = np.dtype(fields)
        self._columns = len(types)
        self._consume = consume
        self._batch_bytes = batch_bytes
        self._begun = False
        self._rows: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        """Receive data from the server."""
        row = data
        if not self._begun:
            row, self._begun = data[_HEADER:], True
        if len(row) > _TRAILER:  # every row is longer than the trailer
            self._rows.append(row)
            self._size += len(row)
            if self._size >= self._batch_bytes:
                self._hand_over()
        return len(data)

    def close(self) -> None:
        """Pass on the remaining rows."""
        if self._rows:
            self._hand_over()

    def _hand_over(self) -> None:
        rows, self._rows, self._size = self._rows, [], 0
        size = self._head.itemsize
        if not self._has_blob:
            heads, blobs = np.frombuffer(b"".join(rows), self._head), []
        else:
            heads = np.frombuffer(b"".join([row[:size] for row in rows]), self._head)
            blobs = [row[size:] for row in rows]
            assert np.array_equal(heads["blob"], list(map(len, blobs)))
        assert np.all(heads["fields"] == self._columns)
        self._consume(Batch(heads, blobs))


def _integer(type_: Any) -> str:
    if isinstance(type_, SmallInteger):
        return ">i2"
    if isinstance(type_, BigInteger):
        return ">i8"
    if isinstance(type_, Integer):
        return ">i4"
    raise TypeError(f"{type_!r} cannot be read in batches")
