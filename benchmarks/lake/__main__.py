"""Cost and query speed of a day in the lake, beside PostgreSQL's chunks and plain SQL.

    make bench-lake           # 3 million facts, in a minute; FULL=1: 20 million; SIZE=smallest: 50,000

Every result of the lake is compared with PostgreSQL's, both read visit by visit: `answers_alike`.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import duckdb
from rich.console import Console

from benchmarks.cpu_time import tree_cpu_s
from benchmarks.lake.day import DAY, fill
from benchmarks.report import Report, exactly
from benchmarks.size import Size, chosen
from benchmarks.store.database import fresh_database
from storage.database import open_engine
from storage.query.access_path import Access, Planner
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.segments.duck import DEFAULT, opened
from storage.segments.export import export_day
from storage.segments.lake_engine import LakeEngine
from storage.segments.location import Lake
from storage.segments.verify import faults
from tests.answer_comparison import differences

if TYPE_CHECKING:
    from collections.abc import Iterator

_MACHINES: Final = 5000
_SIZES: Final = {
    Size.SMALLEST: (50_000, 10_000, 1),
    Size.DEFAULT: (3_000_000, 300_000, 5),
    Size.FULL: (20_000_000, 2_000_000, 5),
}
"""Facts, stacks, and repetitions of each query."""
SQL: Final = """
SELECT s.application, f.name, sum(s.samples * s.period * s.weight)
FROM samples s
JOIN stacks k ON k.day = s.day AND k.stack_id = s.stack_id
JOIN functions f ON f.day = k.day AND f.function_id = k.leaf
WHERE s.event = 'cpu' AND s.campaign = 'fleet'
GROUP BY s.application, f.name ORDER BY 3 DESC LIMIT 100
"""


def questions() -> dict[str, Any]:
    """Queries of the whole day, by name."""
    start = datetime.combine(DAY, clock(), UTC)
    whole: dict[str, Any] = {"start": start.isoformat(), "end": (start + timedelta(days=1)).isoformat()}
    app = parse_selection(select='{application="app003"}', **whole)
    return {
        "app_table": TableQuestion(app, ("function",), Page()),
        "app_flame": FlameTreeQuestion(app, 2000),
        "fleet_table": TableQuestion(parse_selection(**whole), ("function",), Page()),
        "fleet_applications": TableQuestion(parse_selection(**whole), ("application",), Page()),
        "fleet_series": SeriesQuestion(parse_selection(**whole), ("function",), step_s=3600),
    }


def measure(report: Report, folder: str) -> None:
    """Fill a database, export its day, query both."""
    facts, stacks, rounds = _SIZES[chosen()]
    with fresh_database() as server:
        engine = open_engine(server.url(), application="bench")
        visits = fill(engine, machines=_MACHINES, stacks=stacks, facts=facts)
        lake = Lake(folder)
        began, cpu, server_cpu = time.monotonic(), time.process_time(), tree_cpu_s(server.pid or 0)
        made = export_day(engine, lake, DAY)
        export_s, export_cpu = time.monotonic() - began, time.process_time() - cpu
        server_cpu = tree_cpu_s(server.pid or 0) - server_cpu
        assert made is not None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        report.add("facts", made.facts)
        report.add("visits", visits)
        report.add("facts_per_visit", made.facts / visits, peer="64 logical CPUs, 20 to 100 process groups")
        taken_samples = sum(total.samples for total in made.totals)
        report.add("samples_per_visit", taken_samples / visits)
        report.add("export_facts_per_s", made.facts / export_s, peer="read back and checked too")
        report.add("export_cpu_us_per_fact", export_cpu / made.facts * 1e6)
        report.add("export_server_cpu_us_per_fact", server_cpu / made.facts * 1e6)
        report.add("export_peak_rss_mib", peak, peer="filling the database included")
        report.add("bytes_per_fact", made.bytes / made.facts, peer="all tables")
        for table in ("samples", "stacks", "profiles", "functions"):
            size = sum(file.bytes for file in made.tables[table])
            report.add(f"bytes_per_fact_{table}", size / made.facts)
        began = time.monotonic()
        assert not faults(lake, made)
        report.add("verify_facts_per_s", made.facts / (time.monotonic() - began))
        postgres, ours = QueryEngine(engine), LakeEngine(lake)
        alike = 1
        postgres.planner = Planner(frozenset({Access.VISITS}))  # cells would be a different comparison
        for name, question in questions().items():
            times: dict[str, list[float]] = {"lake": [], "postgres": []}
            for _ in range(rounds):
                with _timed(times["postgres"]):
                    wanted = postgres.ask(question)
                with _timed(times["lake"]):
                    found = ours.ask(question).answer
                alike &= not differences(wanted, found)
            report.add(
                f"p50_ms_{name}",
                median(times["lake"]),
                peer=f"PostgreSQL's chunks: {median(times['postgres']):.0f}",
            )
        report.add("answers_alike", alike, exactly(1))
        with opened(lake, [made], DEFAULT) as duck:
            taken: list[float] = []
            for _ in range(rounds):
                with _timed(taken):
                    duck.execute(SQL).fetchall()
        report.add(
            "p50_ms_sql", median(taken), peer="self of application × function, weighted, without intervals"
        )
        postgres.close()
        engine.dispose()


@contextmanager
def _timed(into: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    into.append((time.perf_counter() - began) * 1000)


def main() -> int:
    """Measure, print, write."""
    report = Report("lake", peer="beside")
    with tempfile.TemporaryDirectory(prefix="bench-lake-", dir="/tmp") as folder:
        measure(report, f"{folder}/lake")
    report.note("duckdb", duckdb.__version__)
    report.show(Console())
    print(report.written())
    return report.status


if __name__ == "__main__":
    sys.exit(main())
