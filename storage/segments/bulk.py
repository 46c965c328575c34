"""The lake's rows in bulk: by Arrow out of DuckDB, without a Python object for each."""

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, Select
from sqlalchemy.sql.elements import ColumnElement, literal_column
from sqlalchemy.types import BigInteger

from storage.query.arrays import Int32, Int64, sorting
from storage.query.copy_binary import TooMuch
from storage.query.elsewhere import Columns
from storage.segments.dialect import bound, translated

_DAY = "lake_day"
_PROFILE = "lake_profile"
FACTS_SQL = """
SELECT a.place, s.stack_id, s.samples
FROM samples s JOIN asked a ON s.day = a.day AND s.profile = a.profile
"""
STACKS_SQL = "SELECT stack_id, functions FROM stacks WHERE stack_id IN (SELECT stack_id FROM asked)"


class LakeReads:
    """`storage.query.elsewhere.Elsewhere` of an open DuckDB."""

    profile_key: tuple[ColumnElement[Any], ...] = (
        literal_column("date_diff('day', DATE '1970-01-01', profile.day)", BigInteger).label(_DAY),
        literal_column("profile.profile", BigInteger).label(_PROFILE),
    )

    def __init__(self, connection: Connection, duck: duckdb.DuckDBPyConnection) -> None:
        """`connection` is SQLAlchemy's view of `duck`."""
        self._dialect = connection.dialect
        self._duck = duck

    def columns(self, statement: Select[Any], limit: int) -> Columns:
        """The columns of a statement, by name. Raises `TooMuch` past `limit` bytes, and as `translated` does."""
        compiled = statement.compile(dialect=self._dialect, compile_kwargs={"render_postcompile": True})
        names = compiled.positiontup or ()
        table = self._table(compiled.string, [bound(compiled.params[name]) for name in names])
        if table.nbytes > limit:
            raise TooMuch(
                f"The selection reads more than {limit >> 20} MiB of samples.",
                hint='Choose a shorter time range or add a matcher, e.g. application="…".',
            )
        return {name: _numpy(table.column(name)) for name in table.column_names}

    def facts(self, profiles: Columns) -> tuple[Int64, Int64, Int64]:
        """The facts of profiles, by their days and numbers within them."""
        days = pa.array(profiles[_DAY].astype(np.int32), pa.int32()).cast(pa.date32())
        asked = pa.table(
            {
                "day": days,
                "profile": pa.array(profiles[_PROFILE].astype(np.int32)),
                "place": pa.array(np.arange(len(days), dtype=np.int32)),
            }
        )
        table = self._asking(asked, FACTS_SQL)
        place, stack, samples = (_numpy(table.column(name)) for name in table.column_names)
        found = tuple(column.astype(np.int64) for column in (place, stack, samples))
        if (np.diff(found[0]) >= 0).all():  # files are read in their order, which is that of profiles
            return found[0], found[1], found[2]
        order = sorting(found[0])
        return found[0][order], found[1][order], found[2][order]

    def stacks(self, ids: Int64 | None) -> tuple[Int64, Int32, Int64]:
        """Stacks by their ids; all for None."""
        if ids is None:
            table = self._table("SELECT stack_id, functions FROM stacks", [])
        else:
            table = self._asking(pa.table({"stack_id": pa.array(ids.astype(np.int32))}), STACKS_SQL)
        found = _numpy(table.column("stack_id")).astype(np.int64)
        lists = _whole(table.column("functions"))
        offsets = lists.offsets.to_numpy().astype(np.int64)
        functions = lists.values.to_numpy(zero_copy_only=False).astype(np.int32)
        # Every day that has a stack has the same one.
        once, place = np.unique(found, return_index=True)
        starts, lengths = offsets[:-1][place], np.diff(offsets)[place]
        ends = np.cumsum(lengths)
        at = np.repeat(starts - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
        return once, functions[at], lengths

    def _asking(self, asked: pa.Table, sql: str) -> pa.Table:
        self._duck.register("asked", asked)
        try:
            return self._table(sql, [])
        finally:
            self._duck.unregister("asked")

    def _table(self, sql: str, parameters: list[Any]) -> pa.Table:
        with translated():
            found: pa.Table = self._duck.sql(sql, params=parameters).to_arrow_table()
        return found


def _whole(column: "pa.ChunkedArray[Any]") -> Any:
    """The column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _numpy(column: "pa.ChunkedArray[Any]") -> np.ndarray[Any, Any]:
    """The column as numpy has it; a UUID is its 16 bytes."""
    whole = _whole(column)
    if isinstance(column.type, pa.UuidType):
        stored = whole.storage
        buffer = stored.buffers()[1]
        return (
            np.frombuffer(buffer, "S16", len(stored), stored.offset * 16)
            if len(stored)
            else np.zeros(0, "S16")
        )
    values: np.ndarray[Any, Any] = whole.to_numpy(zero_copy_only=False)
    return values
