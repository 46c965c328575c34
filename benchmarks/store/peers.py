"""The same questions to plain rows in PostgreSQL and to Parquet files under DuckDB, about the same facts.

The rows have an index that holds all that the questions need; the files are sorted by application, one for
each day. Both are asked for observed sums of self alone: neither weighs visits, and neither has intervals or
totals of callers, which every answer of ours has besides.
"""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import text

from benchmarks.store.fleet import PERIOD_NS
from storage.landing.copying import HEADER, TRAILER, copy_stream
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.stack_reading import read_stacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sqlalchemy import Engine

    from benchmarks.store.bulk import BulkVisit
    from benchmarks.store.draws import Draws
    from storage.query.engine import QueryEngine
    from storage.query.selections.selection import Selection

_EACH: Final = 6
"""Questions of each kind, to every engine in turn."""
_SELF: Final = """
    SELECT s.leaf, sum(f.samples) FROM {facts} f JOIN {leaves} s ON s.stack = f.stack WHERE {which} GROUP BY 1
"""
_STACKS: Final = "SELECT f.stack, sum(f.samples) FROM {facts} f WHERE {which} GROUP BY 1"
_APPLICATIONS: Final = "SELECT f.application, sum(f.samples) FROM {facts} f WHERE {which} GROUP BY 1"
_ROWS_INDEX: Final = "CREATE INDEX fact_row_covering ON fact_row (application, at) INCLUDE (stack, samples)"
_TOGETHER: Final = 500_000
_SHOWN: Final = 100
"""Rows, as a page shows; the peers return all of theirs."""
_REMAINDER: Final = -1
"""The key of everything that is not shown."""


@dataclass(frozen=True)
class Compared:
    """One kind of question: milliseconds, the median of some, by engine."""

    kind: str
    ours: float
    rows: float
    duckdb: float


def write_parquet(folder: Path, visits: Iterable[BulkVisit]) -> None:
    """The visits' facts, a file for each day, sorted by application and hour."""
    folder.mkdir()
    by_day: dict[int, list[BulkVisit]] = {}
    for visit in visits:
        by_day.setdefault(visit.hour // 24, []).append(visit)
    for day, some in by_day.items():
        application = np.concatenate([np.repeat(v.applications, v.sizes) for v in some]).astype(np.int32)
        hour = np.concatenate([np.full(len(v.stacks), v.hour, np.int32) for v in some])
        order = np.lexsort((hour, application))
        columns = {
            "application": application,
            "hour": hour,
            "stack": np.concatenate([v.stacks for v in some]),
            "samples": np.concatenate([v.counts for v in some]),
        }
        table = pa.table({name: pa.array(column[order]) for name, column in columns.items()})
        pq.write_table(table, folder / f"{day}.parquet", compression="zstd")


class Peers:
    """Both peers with the same facts of one campaign."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        """`folder` has the Parquet files; the rows stand in fact_row."""
        self._engine = engine
        self._duckdb = duckdb.connect()
        self._facts = f"read_parquet('{folder}/*.parquet')"
        self._leaves(folder)

    def index(self) -> None:
        """Give the rows what their questions need."""
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text(_ROWS_INDEX))
            connection.execute(text("VACUUM ANALYZE fact_row"))
            connection.execute(text("VACUUM ANALYZE stack_leaf"))

    def close(self) -> None:
        """End DuckDB."""
        self._duckdb.close()

    def rows(self, query: str, selection: Selection, application: int | None) -> dict[int, int]:
        """What PostgreSQL says of its rows: sums by key."""
        which = f"f.at >= '{selection.start}' AND f.at < '{selection.end}'"
        which += "" if application is None else f" AND f.application = {application}"
        with self._engine.connect() as connection:
            statement = query.format(facts="fact_row", leaves="stack_leaf", which=which)
            return {key: int(value) for key, value in connection.execute(text(statement))}

    def duckdb(self, query: str, selection: Selection, application: int | None) -> dict[int, int]:
        """What DuckDB says of its files."""
        first, end = (int(at.timestamp()) // 3600 for at in (selection.start, selection.end))
        which = f"f.hour >= {first} AND f.hour < {end}"
        which += "" if application is None else f" AND f.application = {application}"
        statement = query.format(facts=self._facts, leaves="stack_leaf", which=which)
        return {key: int(value) for key, value in self._duckdb.execute(statement).fetchall()}

    def _leaves(self, folder: Path) -> None:
        """The innermost function of every stack, for both: what ours has in memory."""
        with self._engine.begin() as connection:
            ids, functions, lengths = read_stacks(connection, None, limit=1 << 40)
            leaf = functions[np.cumsum(lengths) - 1]
            path = folder / "leaves"
            pq.write_table(pa.table({"stack": ids.astype(np.int32), "leaf": leaf}), path)
            connection.execute(text("CREATE TABLE stack_leaf (stack int PRIMARY KEY, leaf int NOT NULL)"))
            for first in range(0, len(ids), _TOGETHER):
                some = slice(first, first + _TOGETHER)
                rows = np.zeros(len(ids[some]), np.dtype(
                    [("count", ">i2"), ("a", ">i4"), ("stack", ">i4"), ("b", ">i4"), ("leaf", ">i4")]
                ))  # fmt: skip
                rows["count"], rows["a"], rows["b"] = 2, 4, 4
                rows["stack"], rows["leaf"] = ids[some], leaf[some]
                body = io.BytesIO(HEADER + rows.tobytes() + TRAILER)
                copy_stream(connection, "COPY stack_leaf FROM STDIN WITH (FORMAT binary)", body)
        self._duckdb.execute(f"CREATE TABLE stack_leaf AS SELECT * FROM read_parquet('{path}')")


def compare(
    queries: QueryEngine, peers: Peers, campaign: str, draws: Draws, applications: dict[str, int]
) -> list[Compared]:
    """Ask everybody the same. Raises DifferentAnswers if any two answers differ."""

    def table(selection: Selection, by: str) -> dict[int, int]:
        found = queries.ask(TableQuestion(selection, (by,), Page(limit=_SHOWN))).table
        rows = {
            (row.function_id or 0) if by == "function" else applications[row.key[by]]: row.self // PERIOD_NS
            for row in found.rows
        }
        return {**rows, _REMAINDER: found.remainder_self // PERIOD_NS}

    def flame(selection: Selection) -> dict[int, int]:
        drawn = queries.ask(FlameQuestion(selection)).flame
        return {_REMAINDER: int(drawn.total[0]) // PERIOD_NS}

    def app_week() -> tuple[Selection, int | None]:
        name = draws.application()
        return draws.week(campaign, application=name), applications[name]

    kinds: list[
        tuple[str, str, Callable[[Selection], dict[int, int]], Callable[[], tuple[Selection, int | None]]]
    ] = [
        ("app_week_table", _SELF, lambda chosen: table(chosen, "function"), app_week),
        ("app_week_flame", _STACKS, flame, app_week),
        (
            "fleet_month_table",
            _SELF,
            lambda chosen: table(chosen, "function"),
            lambda: (draws.month(campaign), None),
        ),
        (
            "fleet_month_applications",
            _APPLICATIONS,
            lambda chosen: table(chosen, "application"),
            lambda: (draws.month(campaign), None),
        ),
    ]
    found = []
    for kind, query, ours, draw in kinds:
        took: dict[str, list[float]] = {"ours": [], "rows": [], "duckdb": []}
        for _ in range(_EACH):
            selection, application = draw()
            answers: dict[str, dict[int, int]] = {}
            asks: dict[str, Callable[[], dict[int, int]]] = {
                "ours": partial(ours, selection),
                "rows": partial(peers.rows, query, selection, application),
                "duckdb": partial(peers.duckdb, query, selection, application),
            }
            for name, ask in asks.items():
                began = time.perf_counter()
                answers[name] = ask()
                took[name].append((time.perf_counter() - began) * 1e3)
            _check(kind, answers)
        found.append(Compared(kind, *(float(np.median(took[name])) for name in ("ours", "rows", "duckdb"))))
    return found


class DifferentAnswers(Exception):
    """Engines say different things of the same facts."""


def _check(kind: str, answers: dict[str, dict[int, int]]) -> None:
    """Ours shows some rows, or of a tree its root, and the sum of the others: both must be what the peers say."""
    rows, ours = answers["rows"], dict(answers["ours"])
    if answers["duckdb"] != rows:
        raise DifferentAnswers(f"{kind}: DuckDB and PostgreSQL's rows differ")
    remainder = ours.pop(_REMAINDER)
    wrong = {key: value for key, value in ours.items() if rows.get(key, 0) != value}
    if wrong or remainder != sum(rows.values()) - sum(ours.values()):
        raise DifferentAnswers(
            f"{kind}: {len(wrong)} of {len(ours)} rows are not what the peers have, or the sum is not"
        )
