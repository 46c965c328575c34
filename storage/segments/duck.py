"""An embedded DuckDB with the tables of the lake's days; views `newest_…` have the latest row of each named id."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import duckdb
import pyarrow as pa

from storage.segments.errors import LakeBusy, LakeChanged, LakeDamaged, LakeError
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from storage.segments.session import Columns, first_line
from storage.segments.tables import NEWEST, TABLES
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch

_LOOK_S = 0.2
"""Interval of checks whether DuckDB is to stop."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a query."""

    memory_bytes: int = 4 << 30
    """DuckDB's memory; the excess goes to `spill`."""
    threads: int = 0
    """0: one per CPU."""
    spill: Path | None = None
    """Folder for data that exceeds the memory; if None or not writable, such queries fail."""
    timeout_s: float | None = 300.0
    """None: no timeout."""


DEFAULT = Limits()


@contextmanager
def opened(
    lake: Lake, manifests: Sequence[Manifest], limits: Limits, stopping: Callable[[], bool] = lambda: False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory DuckDB over these days (at least one) of one database, without access to other files.

    The block raises `LakeBusy` after `limits.timeout_s`, or when `stopping`.
    """
    with (
        open_duck(lake, manifests, limits) as connection,
        interrupted(connection, limits.timeout_s, stopping),
    ):
        yield connection


def open_duck(lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB like `opened`; the caller closes and interrupts it."""
    connection = duckdb.connect(":memory:")
    try:
        _limit(connection, limits)
        system = lake.file_system()
        if system is not None:
            connection.register_filesystem(system)
        with translated():
            for name in TABLES:
                connection.execute(f'CREATE VIEW "{name}" AS {table_of(lake, name, manifests)}')
            for name, sql in NEWEST.items():
                connection.execute(f"CREATE VIEW {name} AS {sql}")
        if system is None:
            connection.execute(f"SET allowed_directories = [{_quoted(lake.root)}]")
            connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def interrupted(
    connection: duckdb.DuckDBPyConnection,
    timeout_s: float | None,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[None]:
    """Interrupt the block's statements after `timeout_s` or when `stopping`.

    The interrupt is repeated, because one between two statements has no effect.
    """
    over = Event()
    end = None if timeout_s is None else monotonic() + timeout_s

    def watch() -> None:
        wait_s = _LOOK_S if timeout_s is None else min(_LOOK_S, timeout_s)
        while not over.wait(wait_s):
            if stopping() or (end is not None and monotonic() > end):
                connection.interrupt()

    watching = Thread(target=watch, name="duckdb-interrupt", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


class DuckStatements:
    """An open DuckDB, as `storage.segments.session.Statements`."""

    def __init__(self, lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> None:
        self._connection = open_duck(lake, manifests, limits)

    def table(self, sql: str, given: Sequence[int], tables: Mapping[str, Columns]) -> pa.Table:
        """The rows of a SELECT, like `Statements.table`."""
        with translated():
            for name, columns in tables.items():
                self._connection.register(name, pa.table(dict(columns)))
            try:
                found: pa.Table = self._connection.sql(sql, params=list(given)).to_arrow_table()
            finally:
                for name in tables:
                    self._connection.unregister(name)
        return found

    def within(self, timeout_s: float | None) -> AbstractContextManager[None]:
        """Interrupt statements in the block after `timeout_s`."""
        return interrupted(self._connection, timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def translated() -> Iterator[None]:
    """Translate DuckDB errors to storage errors."""
    try:
        yield
    except duckdb.InterruptException as error:
        query_budget.checkpoint()  # raises if the query was cancelled for another reason
        raise LakeBusy("The query in DuckDB reached its time limit and was stopped.") from error
    except duckdb.OutOfMemoryException as error:
        raise TooMuch(
            "The query in DuckDB exceeds its memory limit, FLEETPROF_LAKE_MEMORY_BYTES.",
            hint="Choose a shorter time range, add a matcher, or raise the limit.",
        ) from error
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.SerializationException) as error:
        raise LakeDamaged(f"A file of the lake differs from what was written: {first_line(error)}") from error
    except (duckdb.IOException, duckdb.HTTPException, FileNotFoundError) as error:
        raise LakeChanged(f"A file of the lake is missing or unreadable: {first_line(error)}") from error
    except duckdb.Error as error:
        raise LakeError(f"DuckDB failed: {first_line(error)}") from error


def table_of(lake: Lake, name: str, manifests: Sequence[Manifest]) -> str:
    """A DuckDB SELECT of all rows of a table in these days, with the column `day`."""
    paths = [lake.path(key) for manifest in manifests for key in manifest.keys(name)]
    files = ", ".join(map(_quoted, paths))
    return (
        f"SELECT * FROM read_parquet([{files}], hive_partitioning = true,"  # noqa: S608 - paths are checked
        " hive_types = {'day': DATE}, filename = true)"
    )


def _limit(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    connection.execute(f"SET memory_limit = '{limits.memory_bytes}B'")
    if limits.threads:
        connection.execute(f"SET threads = {limits.threads}")
    connection.execute(f"SET temp_directory = {_quoted(_made(limits.spill))}")
    for setting in (
        "TimeZone = 'UTC'",
        "arrow_lossless_conversion = true",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_progress_bar = false",
    ):
        connection.execute(f"SET {setting}")


def _made(folder: Path | None) -> str:
    """The folder, created if missing; "" if there is none or it is not writable."""
    if folder is None:
        return ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
