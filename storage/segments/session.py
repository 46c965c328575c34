"""SQL statements of one query, independent of the engine, with rows as numpy columns."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from storage.arrays import Int32, Int64
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import Rows, TooMuch

Columns = Mapping[str, Any]
"""Arrow-compatible arrays by name."""


class Statements(Protocol):
    """An engine over the files of some days.

    It has the tables and views of `storage.segments.tables` and accepts DuckDB's SQL dialect.
    """

    def table(self, sql: str, given: Sequence[int], tables: Mapping[str, Columns]) -> pa.Table:
        """The rows of a SELECT with a `?` for each of `given`; `tables` exist by name while it runs.

        Raises `LakeError`, `TooMuch`.
        """
        ...

    def within(self, timeout_s: float | None) -> AbstractContextManager[None]:
        """Statements in the block raise `LakeBusy` after `timeout_s`."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class Session:
    """The statements of a query; all errors are storage errors."""

    def __init__(self, statements: Statements, learnt: dict[str, Rows] | None = None) -> None:
        """`learnt` caches the rows of `once` for the same files."""
        self._statements = statements
        self._learnt = {} if learnt is None else learnt

    def once(self, sql: str) -> Rows:
        """Like `rows`, for a small table; run once for all queries of the same files, which never change."""
        if sql not in self._learnt:
            self._learnt[sql] = self.rows(sql)
        return self._learnt[sql]

    def rows(
        self, sql: str, given: Sequence[Any] = (), *, limit: int | None = None, **tables: Columns
    ) -> Rows:
        """The rows of a SELECT; `tables` exist by name while it runs.

        Raises `TooMuch` beyond `limit` bytes, and like `Statements.table`.
        """
        found = self._table(sql, given, tables)
        if limit is not None and found.nbytes > limit:
            raise TooMuch(
                f"The query reads more than {limit >> 20} MiB of samples.",
                hint='Choose a shorter time range or add a matcher, e.g. application="…".',
            )
        return Rows(found.num_rows, {name: _numpy(found.column(name)) for name in found.column_names})

    def lists(self, sql: str, **tables: Columns) -> tuple[Int64, Int32, Int64]:
        """(keys, concatenated values, lengths) of a SELECT of keys and lists of numbers; raises like `rows`."""
        found = self._table(sql, (), tables)
        lists = _whole(found.column(1))
        lengths = np.diff(lists.offsets.to_numpy().astype(np.int64))
        values = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int32)
        return _numpy(found.column(0)).astype(np.int64), values, lengths

    def _table(self, sql: str, given: Sequence[Any], tables: Mapping[str, Columns]) -> pa.Table:
        query_budget.checkpoint()
        found = self._statements.table(sql, given, tables)
        query_budget.take(found.nbytes)
        return found


def _whole(column: "pa.ChunkedArray[Any]") -> Any:
    """The column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _numpy(column: "pa.ChunkedArray[Any]") -> np.ndarray[Any, Any]:
    """The column as a numpy array; bytes are UUIDs of 16 bytes, and texts are objects."""
    whole = _whole(column)
    if pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type):
        if not len(whole):
            return np.zeros(0, "S16")
        fixed = whole.cast(pa.binary(16))
        return np.frombuffer(fixed.buffers()[1], "S16", len(fixed), fixed.offset * 16)
    values: np.ndarray[Any, Any] = whole.to_numpy(zero_copy_only=False)
    return values


def first_line(error: BaseException) -> str:
    """The first line of an error message."""
    return (str(error).splitlines() or [type(error).__name__])[0]
