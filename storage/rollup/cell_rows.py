"""Read and write cells by COPY BINARY: fixed-width columns as arrays, then blobs.

`storage.snapshots.copy_binary` reads one blob per row; a cell has two or three.
"""

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import psycopg2.extensions
from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Double,
    Integer,
    LargeBinary,
    Select,
    SmallInteger,
    Table,
)
from sqlalchemy.sql.dml import ReturningDelete

from storage.database import translated
from storage.snapshots.copy_binary import Parameters, copy_out

_CODES = (
    (SmallInteger, "h", ">i2"),
    (BigInteger, "q", ">i8"),
    (Integer, "i", ">i4"),
    (Boolean, "?", "?"),
    (Double, "d", ">f8"),
)
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
MAX_BYTES = 4 << 30
"""Limit of one read while cells are merged."""
ANSWER_BYTES = 64 << 20
"""Limit of the cells read for one query. Decoded they take some forty times as much."""
Columns = dict[str, npt.NDArray[Any]]
Blob = bytes | memoryview


def read(
    connection: Connection,
    statement: Select[Any] | ReturningDelete[Any],
    parameters: Parameters | None = None,
    *,
    limit: int = MAX_BYTES,
) -> tuple[Columns, list[list[memoryview]]]:
    """Read the rows of a SELECT, or the rows that a DELETE returns: fixed-width columns, then columns of bytes.

    Only columns of bytes may be NULL; NULL reads as empty.
    """
    selected = list(statement.exported_columns)
    fixed = [column for column in selected if not isinstance(column.type, LargeBinary)]
    blobs = len(selected) - len(fixed)
    buffer = copy_out(connection, statement, parameters, limit=limit)
    kinds = [next(kind for kind in _CODES if isinstance(column.type, kind[0])) for column in fixed]
    row = np.dtype(
        [("fields", ">i2")]
        + [part for n, kind in enumerate(kinds) for part in ((f"l{n}", ">i4"), (f"v{n}", kind[2]))]
    )
    starts: list[int] = []
    found: list[list[memoryview]] = [[] for _ in range(blobs)]
    at, end, width, length_at = 0, len(buffer), row.itemsize, _LENGTH.unpack_from
    if not blobs:
        table = np.frombuffer(buffer, row)
    else:
        while at < end:
            starts.append(at)
            at += width
            for column in found:
                (size,) = length_at(buffer, at)
                at += 4
                stop = at + max(size, 0)
                column.append(buffer[at:stop])
                at = stop
        heads = b"".join([buffer[start : start + width] for start in starts])
        table = np.frombuffer(heads, row)
    return {column.name: _native(table[f"v{n}"]) for n, column in enumerate(fixed)}, found


def write(
    connection: Connection,
    table: Table,
    columns: Mapping[str, npt.NDArray[Any]],
    blobs: Mapping[str, Sequence[Blob | None]],
) -> None:
    """Append rows by COPY: fixed-width columns, then columns of bytes, where None is NULL."""
    names = [*columns, *blobs]
    n = len(next(iter(columns.values())))
    kinds = [next(kind for kind in _CODES if isinstance(table.c[name].type, kind[0])) for name in columns]
    row = np.dtype(
        [("fields", ">i2")]
        + [part for i, kind in enumerate(kinds) for part in ((f"l{i}", ">i4"), (f"v{i}", kind[2]))]
    )
    rows = np.empty(n, row)
    rows["fields"] = len(names)
    for i, values in enumerate(columns.values()):
        rows[f"l{i}"] = row[f"v{i}"].itemsize
        rows[f"v{i}"] = values
    fixed, width = rows.tobytes(), row.itemsize
    parts: list[Blob] = [_SIGNATURE]
    listed = list(blobs.values())
    for i in range(n):
        parts.append(fixed[i * width : (i + 1) * width])
        for column in listed:
            blob = column[i]
            if blob is None:
                parts.append(_NULL)
            else:
                parts += (_LENGTH.pack(len(blob)), blob)
    parts.append(b"\xff\xff")
    statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN WITH (FORMAT binary)"
    raw = cast(psycopg2.extensions.connection, connection.connection.dbapi_connection)
    with translated(), raw.cursor() as cursor:
        cursor.copy_expert(statement, io.BytesIO(b"".join(parts)), size=1 << 20)


def _native(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert to native byte order: integers to int64, floats to float64; booleans are unchanged."""
    if column.dtype.kind == "f":
        return column.astype(np.float64)
    return column if column.dtype.kind == "b" else column.astype(np.int64)
