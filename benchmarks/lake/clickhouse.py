"""The lake read by ClickHouse, an example of another engine for the SQL of segments; peer in `make bench-lake`.

It is embedded (`pip install chdb sqlglot`). A server works the same way over files in an object store, with `s3(…)` in
place of `file(…)`. An engine needs the files by name, one or two tables for the duration of a statement, and rows as
Arrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from chdb.session import Session
from sqlglot import exp

from storage.segments.duck import Limits
from storage.segments.errors import LakeError
from storage.segments.location import Lake, folder_of
from storage.segments.manifest import Manifest
from storage.segments.session import Columns, first_line
from storage.segments.tables import NEWEST, TABLES

_SETTINGS = "SETTINGS join_use_nulls = 1, output_format_arrow_fixed_string_as_fixed_byte_array = 1"


class ClickHouseStatements:
    """An embedded ClickHouse over some days of a folder, as `storage.segments.session.Statements`."""

    def __init__(self, lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> None:
        self._folder = TemporaryDirectory(prefix="clickhouse-")
        self._session = Session(f"{self._folder.name}/server")
        self._run("SET use_hive_partitioning = 0")
        self._run(f"SET max_memory_usage = {limits.memory_bytes}")
        for name in TABLES:
            days = (
                f"SELECT *, toDate32('{each.day}') AS day, _file AS filename"
                f" FROM file('{lake.path(folder_of(name, each.day))}/{{{','.join(f.name for f in each.tables[name])}}}')"
                for each in manifests
            )
            self._run(f"CREATE VIEW `{name}` AS {' UNION ALL '.join(days)}")
        for name, sql in NEWEST.items():
            self._run(f"CREATE VIEW `{name}` AS {_tree(sql).sql('clickhouse', identify=True)}")

    def table(self, sql: str, given: Sequence[int], tables: Mapping[str, Columns]) -> pa.Table:
        """The rows of a SELECT, as `Statements.table`."""
        values = iter(given)
        tree = _tree(sql).copy()
        for place in list(tree.find_all(exp.Placeholder, bfs=False)):
            place.replace(exp.Literal.number(next(values)))
        try:
            for name, columns in tables.items():
                file = Path(self._folder.name, f"{name}.parquet")
                pq.write_table(pa.table(dict(columns)), file)
                self._run(f"CREATE OR REPLACE VIEW `{name}` AS SELECT * FROM file('{file}')")
            found = self._run(f"{tree.sql('clickhouse')} {_SETTINGS}", "ArrowStream")
        finally:
            for name in tables:
                self._run(f"DROP VIEW IF EXISTS `{name}`")
        with pa.ipc.open_stream(pa.py_buffer(found)) as stream:
            return stream.read_all()

    @contextmanager
    def within(self, timeout_s: float | None) -> Iterator[None]:
        """Each statement in the block fails after `timeout_s`."""
        self._run(f"SET max_execution_time = {timeout_s or 0}")
        yield

    def close(self) -> None:
        """End the server and remove its folder."""
        self._session.close()
        self._folder.cleanup()

    def _run(self, sql: str, form: str = "Null") -> bytes:
        try:
            found: bytes = self._session.query(sql, form).bytes()
        except RuntimeError as error:
            raise LakeError(f"ClickHouse failed: {first_line(error)}") from error
        return found


@lru_cache(maxsize=256)
def _tree(sql: str) -> exp.Expression:
    """A SELECT of DuckDB translated to ClickHouse's dialect."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for call in list(tree.find_all(exp.Func)):
        name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
        if name == "epoch_us":
            call.replace(exp.func("toUnixTimestamp64Micro", *call.expressions, dialect="clickhouse"))
        elif name == "unhex":
            call.replace(exp.func("toFixedString", call.copy(), exp.Literal.number(16), dialect="clickhouse"))
        elif name == "split_part":
            call.replace(exp.column("filename"))
    return tree
