"""Statements on one question's DuckDB, and their rows as columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from storage.query import budget
from storage.query.arrays import Int32, Int64
from storage.query.copy_binary import Rows, TooMuch
from storage.segments.errors import LakeBusy, LakeChanged, LakeDamaged, LakeError

Columns = Mapping[str, Any]
"""Arrays that Arrow takes, by name."""


class Session:
    """An open DuckDB; what it raises becomes the store's errors (`translated`)."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, learnt: dict[str, Rows] | None = None) -> None:
        """`learnt` has the rows of statements that `once` has run before over the same files."""
        self._duck = duck
        self._learnt = {} if learnt is None else learnt

    def once(self, sql: str) -> Rows:
        """As `rows`, of a small table; run once for all questions of the same files, which never change."""
        if sql not in self._learnt:
            self._learnt[sql] = self.rows(sql)
        return self._learnt[sql]

    def rows(
        self, sql: str, given: Sequence[Any] = (), *, limit: int | None = None, **tables: Columns
    ) -> Rows:
        """The rows of a SELECT; `tables` are there by name while it runs. Raises `TooMuch` past `limit` bytes, and as `translated` does."""
        found = self._table(sql, given, tables)
        if limit is not None and found.nbytes > limit:
            raise TooMuch(
                f"The selection reads more than {limit >> 20} MiB of samples.",
                hint='Choose a shorter time range or add a matcher, e.g. application="…".',
            )
        return Rows(found.num_rows, {name: _numpy(found.column(name)) for name in found.column_names})

    def lists(self, sql: str, **tables: Columns) -> tuple[Int64, Int32, Int64]:
        """(keys, values one list after the other, lengths) of a SELECT of keys and lists of numbers; raises as `rows` does."""
        found = self._table(sql, (), tables)
        lists = _whole(found.column(1))
        lengths = np.diff(lists.offsets.to_numpy().astype(np.int64))
        values = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int32)
        return _numpy(found.column(0)).astype(np.int64), values, lengths

    def _table(self, sql: str, given: Sequence[Any], tables: Mapping[str, Columns]) -> pa.Table:
        budget.checkpoint()
        with translated():
            for name, columns in tables.items():
                self._duck.register(name, pa.table(dict(columns)))
            try:
                found: pa.Table = self._duck.sql(sql, params=list(given)).to_arrow_table()
            finally:
                for name in tables:
                    self._duck.unregister(name)
        budget.take(found.nbytes)
        return found


@contextmanager
def translated() -> Iterator[None]:
    """Errors of DuckDB inside become the store's."""
    try:
        yield
    except duckdb.InterruptException as error:
        budget.checkpoint()  # the question may be over for reasons of its own
        raise LakeBusy("DuckDB took too long and was stopped.") from error
    except duckdb.OutOfMemoryException as error:
        raise TooMuch(
            "The selection needs more memory than FLEETPROF_LAKE_MEMORY_BYTES lets DuckDB have.",
            hint="Choose a shorter time range, add a matcher, or allow more.",
        ) from error
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.SerializationException) as error:
        raise LakeDamaged(f"A file of the lake is not what was written: {_first_line(error)}") from error
    except (duckdb.IOException, duckdb.HTTPException, FileNotFoundError) as error:
        raise LakeChanged(
            f"A file of the lake is not there any more, or not readable: {_first_line(error)}"
        ) from error
    except duckdb.Error as error:
        raise LakeError(f"DuckDB failed: {_first_line(error)}") from error


def _whole(column: "pa.ChunkedArray[Any]") -> Any:
    """The column as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _numpy(column: "pa.ChunkedArray[Any]") -> np.ndarray[Any, Any]:
    """The column as numpy has it; a UUID is its 16 bytes, a text an object."""
    whole = _whole(column)
    if isinstance(column.type, pa.UuidType):
        stored = whole.storage
        if not len(stored):
            return np.zeros(0, "S16")
        return np.frombuffer(stored.buffers()[1], "S16", len(stored), stored.offset * 16)
    values: np.ndarray[Any, Any] = whole.to_numpy(zero_copy_only=False)
    return values


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
