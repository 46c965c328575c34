"""Plain rows in PostgreSQL, one per fact, with indexes that cover the questions."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
from sqlalchemy import text

from benchmarks.store.database import another_database
from storage.database import open_engine
from storage.ingest.copy_in import HEADER, TRAILER, copy_stream
from storage.snapshots.stack_reading import read_stacks

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from sqlalchemy import Connection, Engine

    from services.embedded.postgres import EmbeddedPostgres
    from storage.query.selections.selection import Selection

_TABLES: Final = """
    CREATE TABLE fact_row (at timestamptz NOT NULL, visit int NOT NULL, stratum int NOT NULL, machine int NOT NULL,
        application int NOT NULL, stack int NOT NULL, samples int NOT NULL);
    CREATE TABLE stack_leaf (stack int NOT NULL, leaf int NOT NULL);
"""
_INDEXES: Final = (
    "CREATE INDEX ON fact_row (application, at) INCLUDE (stack, samples)",
    "ALTER TABLE stack_leaf ADD PRIMARY KEY (stack)",
    "VACUUM ANALYZE fact_row",
    "VACUUM ANALYZE stack_leaf",
)
_SELF: Final = """
    SELECT s.leaf, sum(f.samples) FROM fact_row f JOIN stack_leaf s ON s.stack = f.stack WHERE {which} GROUP BY 1
"""
_STACKS: Final = "SELECT f.stack, sum(f.samples) FROM fact_row f WHERE {which} GROUP BY 1"
_APPLICATIONS: Final = "SELECT f.application, sum(f.samples) FROM fact_row f WHERE {which} GROUP BY 1"
_YEAR_2000: Final = 946_684_800
_TOGETHER: Final = 500_000


class PlainRows:
    """Observed sums of self only: no weights of visits, no intervals, no totals of callers."""

    def __init__(self, server: EmbeddedPostgres, ours: Engine, folder: Path) -> None:
        """`folder` contains the files of `write_facts`; the stacks' innermost functions are read from `ours`."""
        self._engine = open_engine(another_database(server, "plain_rows"), application="bench")
        with self._engine.begin() as connection:
            connection.execute(text(_TABLES))
            began = time.monotonic()
            self.facts = _load(connection, folder)
        self.load_s = time.monotonic() - began
        with ours.connect() as reading, self._engine.begin() as connection:
            ids, functions, lengths = read_stacks(reading, None, limit=1 << 40)
            leaf = functions[np.cumsum(lengths) - 1]
            _copy(connection, "stack_leaf", {"stack": ids, "leaf": leaf})
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for statement in _INDEXES:
                connection.execute(text(statement))
            self.bytes: int = connection.execute(
                text("SELECT pg_total_relation_size('fact_row')")
            ).scalar_one()

    def close(self) -> None:
        """Close its connections."""
        self._engine.dispose()

    def functions(self, selection: Selection, application: int | None) -> dict[int, int]:
        """Samples by innermost function."""
        return self._sums(_SELF, selection, application)

    def applications(self, selection: Selection) -> dict[int, int]:
        """Samples by application."""
        return self._sums(_APPLICATIONS, selection, None)

    def stacks(self, selection: Selection, application: int | None) -> dict[int, int]:
        """Samples by stack."""
        return self._sums(_STACKS, selection, application)

    def _sums(self, query: str, selection: Selection, application: int | None) -> dict[int, int]:
        which = f"f.at >= '{selection.start}' AND f.at < '{selection.end}'"
        which += "" if application is None else f" AND f.application = {application}"
        with self._engine.connect() as connection:
            found = connection.execute(text(query.format(which=which)))
            return {key: int(value) for key, value in found}


def _load(connection: Connection, folder: Path) -> int:
    facts = duckdb.execute(
        f"SELECT f.*, v.stratum, v.machine FROM read_parquet('{folder}/facts-*.parquet') f"
        f" JOIN read_parquet('{folder}/visits-*.parquet') v USING (visit)"
    ).fetchnumpy()
    at = (3600 * facts["hour"].astype(np.int64) - _YEAR_2000) * 1_000_000
    columns = {
        "at": at,
        **{name: facts[name] for name in ("visit", "stratum", "machine", "application", "stack", "samples")},
    }
    _copy(connection, "fact_row", columns)
    return len(at)


def _copy(connection: Connection, table: str, columns: dict[str, npt.NDArray[np.generic]]) -> None:
    """Copy rows of integers: the column `at` has eight bytes, the others four."""
    fields = [("count", ">i2")]
    for name in columns:
        fields += [(f"{name} length", ">i4"), (name, ">i8" if name == "at" else ">i4")]
    kind = np.dtype(fields)
    size = len(next(iter(columns.values())))
    for first in range(0, size, _TOGETHER):
        some = slice(first, min(first + _TOGETHER, size))
        rows = np.zeros(some.stop - some.start, kind)
        rows["count"] = len(columns)
        for name, column in columns.items():
            rows[f"{name} length"], rows[name] = kind[name].itemsize, column[some]
        body = io.BytesIO(b"".join((HEADER, rows.tobytes(), TRAILER)))
        copy_stream(connection, f"COPY {table} ({', '.join(columns)}) FROM STDIN WITH (FORMAT binary)", body)
