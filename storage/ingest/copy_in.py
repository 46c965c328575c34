"""Write rows by COPY BINARY, typed by the schema, and read fixed-width rows into numpy.

COPY is ten to twenty times faster than INSERT, and runs on the session's own connection and transaction. The binary
format is a 19-byte header, then for each row the number of fields (int16) and for each field its length (int32, −1 for
NULL) and its big-endian bytes, then −1 (PostgreSQL documentation, COPY).
"""

import io
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, cast
from uuid import UUID

import numpy as np
import numpy.typing as npt
import psycopg2.extensions
from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Date,
    Double,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from storage.database import translated

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_NULL = struct.pack(">i", -1)
_INT2, _INT4, _INT8 = struct.Struct(">ih"), struct.Struct(">ii"), struct.Struct(">iq")
_FLOAT8, _BOOL, _LENGTH = struct.Struct(">id"), struct.Struct(">i?"), struct.Struct(">i")
_DAY_0 = date(2000, 1, 1).toordinal()

Encoder = Callable[[Any], bytes]


def _int2(value: int) -> bytes:
    return _INT2.pack(2, value)


def _int4(value: int) -> bytes:
    return _INT4.pack(4, value)


def _int8(value: int) -> bytes:
    return _INT8.pack(8, value)


def _float8(value: float) -> bytes:
    return _FLOAT8.pack(8, value)


def _bool(value: bool) -> bytes:
    return _BOOL.pack(1, value)


def _date(value: date) -> bytes:
    return _INT4.pack(4, value.toordinal() - _DAY_0)


def _uuid(value: UUID | bytes) -> bytes:
    return b"\0\0\0\x10" + (value if isinstance(value, bytes) else value.bytes)


def _bytea(value: bytes) -> bytes:
    return _LENGTH.pack(len(value)) + value


def _text(value: str) -> bytes:
    # PostgreSQL's text cannot store NUL or lone surrogates; a symbol name may contain either.
    return _bytea(value.replace("\0", "�").encode("utf-8", "replace"))


def _jsonb(value: Mapping[str, Any]) -> bytes:
    return _bytea(b"\x01" + json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace"))


_ENCODERS: tuple[tuple[type[TypeEngine[Any]], Encoder], ...] = (
    (SmallInteger, _int2),  # before Integer, its base
    (BigInteger, _int8),
    (Integer, _int4),
    (Double, _float8),
    (Boolean, _bool),
    (Date, _date),
    (Uuid, _uuid),
    (LargeBinary, _bytea),
    (Text, _text),
    (JSONB, _jsonb),
)


def encoder(type_: TypeEngine[Any]) -> Encoder:
    """The encoder of values of a column type; its output begins with the length."""
    return next(encode for kind, encode in _ENCODERS if isinstance(type_, kind))


def copy_into(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    target: str | None = None,
) -> None:
    """Append the rows, whose fields are in the order of `columns`; None is NULL.

    `target` names another table with columns of the same types (a temporary one); its first column is then `n`, the
    row's number from 0. Raises `storage.errors.DatabaseError`.
    """
    encoders = [encoder(table.c[name].type) for name in columns]
    names = list(columns)
    if target is not None:
        names.insert(0, "n")
    count = struct.pack(">h", len(names))
    parts = [HEADER]
    for n, row in enumerate(rows):
        parts.append(count)
        if target is not None:
            parts.append(_INT4.pack(4, n))
        parts += [_NULL if v is None else encode(v) for encode, v in zip(encoders, row, strict=True)]
    parts.append(TRAILER)
    copy_stream(
        connection,
        f"COPY {target or table.name} ({', '.join(names)}) FROM STDIN WITH (FORMAT binary)",
        io.BytesIO(b"".join(parts)),
    )


def copy_ints(connection: Connection, query: str, width: int) -> npt.NDArray[np.int64]:
    """The rows of a query of `width` non-null int4 columns, as an array of shape (rows, width)."""
    buffer = io.BytesIO()
    copy_stream(connection, f"COPY ({query}) TO STDOUT WITH (FORMAT binary)", buffer)
    row = np.dtype([("fields", ">i2"), ("columns", [("length", ">i4"), ("value", ">i4")], (width,))])
    body = memoryview(buffer.getbuffer())[len(HEADER) : -len(TRAILER)]
    return np.frombuffer(body, row)["columns"]["value"].astype(np.int64)


def copy_stream(connection: Connection, statement: str, stream: io.BytesIO) -> None:
    """Run a COPY from or to the stream, in the connection's transaction. Raises `DatabaseError`."""
    raw = cast(psycopg2.extensions.connection, connection.connection.dbapi_connection)
    with translated(), raw.cursor() as cursor:
        cursor.copy_expert(statement, stream)
