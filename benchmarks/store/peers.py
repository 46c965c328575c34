"""The questions to DuckDB over Parquet and to plain rows in PostgreSQL, on the same facts, alternating in one run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from benchmarks.store.draws import Extent
from benchmarks.store.duckdb_peer import DuckDb, Rows
from benchmarks.store.fleet import PERIOD_NS
from benchmarks.store.load_phase import PARQUET
from benchmarks.store.plain_rows import PlainRows
from benchmarks.store.query_phase import draws
from benchmarks.store.questions import QueryRunner
from storage.query.answers.table import TableAnswer
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.store.run import Run
    from storage.query.answers.figures import Interval
    from storage.query.estimation.estimates import Estimate
    from storage.query.selections.selection import Selection

_EACH: Final = 6
"""Questions per kind, to every engine in turn."""
_SHOWN: Final = 100
_TOLERANCE: Final = 1e-8
"""Relative tolerance: sums are added in different orders."""
_ALIKE: Final = 0.9
"""Least share of common rows among the heaviest ones shown: engines order ties differently."""
_Answer = TypeVar("_Answer")
_ROWS_LACK: Final = "rows: observed sums of self alone, no weights, no intervals, no totals"


class DifferentAnswers(Exception):
    """Engines give different results for the same question on the same facts."""


@dataclass
class _Compared:
    """One kind of question: milliseconds by engine."""

    lacks: str = ""
    ours: list[float] = field(default_factory=list)
    duckdb: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)


def ask_peers(run: Run) -> None:
    """Run the same questions on every engine, about the second campaign. Raises DifferentAnswers."""
    folder, campaign = run.folder / PARQUET, run.ids.places.campaigns[1]
    run.say("peers: loading what they need")
    began = time.monotonic()
    duck = DuckDb(run.engine, folder, campaign)
    duck_s = time.monotonic() - began
    rows = PlainRows(run.server, run.engine, folder)
    run.say(f"peers: {rows.facts:,} facts; DuckDB's files took {duck_s:.1f} s, rows {rows.load_s:.1f} s")
    with QueryRunner(run.url, run.folder) as runner:
        found = _compare(run, runner, duck, rows)
    duck.close()
    rows.close()
    made = sum(path.stat().st_size for path in folder.iterdir())
    run.add("facts_of_peers", rows.facts, "of the campaign that is drawn less often, bulk alone")
    run.add("rows_facts_per_s", rows.facts / rows.load_s, "one process, before indexes")
    run.add("rows_bytes_per_fact", rows.bytes / rows.facts, "stacks apart")
    run.add(
        "duckdb_bytes_per_fact",
        made / rows.facts,
        "facts, sums by visit and function, by application and of all; stacks apart",
    )
    run.add("duckdb_us_per_fact", duck_s / rows.facts * 1e6, "wall, of making all but the facts' files")
    for kind, each in found.items():
        ours, duckdb_ms, rows_ms = (float(np.median(ms)) for ms in (each.ours, each.duckdb, each.rows))
        run.add(
            f"speedup_vs_duckdb_{kind}",
            duckdb_ms / ours,
            f"DuckDB {duckdb_ms:.0f} ms, ours {ours:.1f}; {each.lacks or 'same work: weights, totals, intervals'}",
        )
        run.add(f"speedup_vs_rows_{kind}", rows_ms / ours, f"{rows_ms:.0f} ms; {_ROWS_LACK}")


def _compare(run: Run, runner: QueryRunner, duck: DuckDb, rows: PlainRows) -> dict[str, _Compared]:
    """Run six questions of each kind and compare the results."""
    # The peers lack the facts ingested end to end.
    over = Extent(run.begin_hour, max(run.begin_hour + 1, run.hour(run.size.bulk)))
    drawn, ask = draws(run, 4, over), runner.queries.ask
    names = {f"app{number:03d}": int(id_) for number, id_ in enumerate(run.ids.applications.tolist())}
    page = Page(limit=_SHOWN)

    def of_application() -> tuple[Selection, int]:
        name = drawn.application()
        return drawn.week("deep", application=name), names[name]

    def app_week_table(took: _Compared) -> None:
        selection, id_ = of_application()
        answer = _timed(took.ours, lambda: ask(TableQuestion(selection, ("function",), page)))
        theirs = _timed(took.duckdb, lambda: duck.functions(selection, id_, _SHOWN))
        _check(answer, theirs, _timed(took.rows, lambda: rows.functions(selection, id_)), names)

    def fleet_month_table(took: _Compared) -> None:
        selection = drawn.month("deep")
        answer = _timed(took.ours, lambda: ask(TableQuestion(selection, ("function",), page)))
        theirs = _timed(took.duckdb, lambda: duck.functions(selection, None, _SHOWN))
        _check(answer, theirs, _timed(took.rows, lambda: rows.functions(selection, None)), names)

    def fleet_month_applications(took: _Compared) -> None:
        selection = drawn.month("deep")
        answer = _timed(took.ours, lambda: ask(TableQuestion(selection, ("application",), page)))
        theirs = _timed(took.duckdb, lambda: duck.applications(selection, _SHOWN))
        _check(answer, theirs, _timed(took.rows, lambda: rows.applications(selection)), names)

    def app_week_flame(took: _Compared) -> None:
        selection, id_ = of_application()
        drawing = _timed(took.ours, lambda: ask(FlameTreeQuestion(selection)).flame)
        theirs = _timed(took.duckdb, lambda: duck.stacks(selection, id_))
        plain = _timed(took.rows, lambda: rows.stacks(selection, id_))
        if theirs != plain or int(drawing.total[0]) != sum(plain.values()) * PERIOD_NS:
            raise DifferentAnswers("sums by stack")

    found = {}
    for kind in (app_week_table, app_week_flame, fleet_month_table, fleet_month_applications):
        lacks = (
            "DuckDB: weighted sums by stack, no tree, no intervals, no names"
            if kind is app_week_flame
            else ""
        )
        found[kind.__name__] = _Compared(lacks)
        for _ in range(_EACH):
            kind(found[kind.__name__])
        run.say(f"peers: {kind.__name__}, answers are the same")
    return found


def _timed(into: list[float], answer: Callable[[], _Answer]) -> _Answer:
    began = time.perf_counter()
    found = answer()
    into.append((time.perf_counter() - began) * 1e3)
    return found


def _check(answer: TableAnswer, theirs: Rows, plain: dict[int, int], names: dict[str, int]) -> None:
    """Check that exact sums are equal in all three engines, and estimates and intervals in the two that have them."""
    if {key: value for key, value in theirs.self.items() if value} != plain:
        raise DifferentAnswers("DuckDB's and PostgreSQL's sums")
    compared = 0
    for row in answer.rows:
        key = names[row.key["application"]] if "application" in row.key else row.function_id
        if (
            row.self != theirs.self.get(key or 0, 0) * PERIOD_NS
            or row.total != theirs.total.get(key or 0, 0) * PERIOD_NS
        ):
            raise DifferentAnswers(f"self or total of {row.key}")
        if key in theirs.own:
            compared += 1
            _same((row.self_lo, row.self_share, row.self_hi), row.self_core_seconds, theirs.own[key])
            _same((row.total_lo, row.total_share, row.total_hi), row.total_core_seconds, theirs.of_total[key])
    if compared < _ALIKE * len(answer.rows):
        raise DifferentAnswers("which rows are the heaviest")
    if answer.remainder.self != (sum(plain.values()) * PERIOD_NS - sum(row.self for row in answer.rows)):
        raise DifferentAnswers("the remainder")


def _same(
    share: tuple[float | None, float, float | None], seconds: Interval | None, theirs: Estimate | None
) -> None:
    if seconds is None or theirs is None:
        raise DifferentAnswers("an estimate is missing")
    in_seconds = theirs.units.scaled(1e-9)
    for mine, other in (
        ((seconds.lo, seconds.value, seconds.hi), in_seconds),
        (share, theirs.share),
    ):
        if not np.allclose(
            np.array(mine, np.float64), (other.lo, other.value, other.hi), rtol=_TOLERANCE, atol=0
        ):
            raise DifferentAnswers(f"{mine} and {other}")
