"""Rows of any number through a window of two megabytes, for those who look at each once.

COPY BINARY hands over row by row; they are gathered until a batch is full, and then cut into columns.
The reader is paced by its consumer: while that works or rests, the server waits.
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
"""Of chunks: a few million facts, each of which takes some forty bytes while it is decoded."""
_HEADER, _TRAILER = 19, 2
_DIALECT = psycopg2.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves its dialects untyped
Int64: TypeAlias = npt.NDArray[np.int64]


class Batch:
    """Some rows: integer columns by position, and the last column's bytes if it is not an integer."""

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
    """Give every row of a statement to `consume`, in batches of about `batch_bytes`.

    Columns are non-null integers; the last may be bytes instead. What `consume` raises ends it. Raises `storage.errors.DatabaseError`.
    """
    compiled = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    gathering = Gathering([column.type for column in statement.selected_columns], consume, batch_bytes)
    with translated(), closing(connection.connection.cursor()) as cursor:
        query = cursor.mogrify(compiled.string, compiled.params)
        cursor.copy_expert(b"COPY (" + query + b") TO STDOUT WITH (FORMAT binary)", gathering)
    gathering.close()


class Gathering:
    """The file that COPY writes into: each time a row, the first one behind the header (libpq, PQgetCopyData)."""

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
        """Take what the server sent."""
        row = data
        if not self._begun:
            row, self._begun = data[_HEADER:], True
        if len(row) > _TRAILER:  # no row is as short as the end
            self._rows.append(row)
            self._size += len(row)
            if self._size >= self._batch_bytes:
                self._hand_over()
        return len(data)

    def close(self) -> None:
        """Hand over what is left."""
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
    raise TypeError(f"{type_!r} is not read in batches")
