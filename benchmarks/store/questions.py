"""Kinds of questions, and their response times in a query engine of this process.

No result is reused: the engine caches none, and every response computes its weights and intervals. Like every API
process, the engine keeps in memory the mapped file of all stacks and names, and decoded cells and chunks of single
applications; the kinds that end in `_undecoded` drop the decoded part first.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from services.api.malloc_trim import PAUSE_S
from services.process_setup.malloc import reuse_arrays, share_arenas, trim_periodically
from storage.database import open_engine
from storage.errors import BudgetExceeded
from storage.query.query_engine import QueryEngine
from storage.query.shapes.callers import CallersQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.query.stacks.files import StackFiles
from storage.query.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.store.draws import Draws
    from storage.query.reading import Question

PATIENCE_S: Final = 300.0
_NODES: Final = 20_000
"""Number of nodes that a browser requests."""
_LINES: Final = 5
_WARMING: Final = 3
"""Unmeasured questions per kind, so that none is the first use of its pages, connections and code."""
_HOT: Final = 200
UNDECODED: Final = "_undecoded"
_READ_CHUNKS: Final = frozenset({"raw_filter", "series_week"})


def kinds(draws: Draws, hot: Sequence[int]) -> dict[str, Callable[[], Question[object]]]:
    """Functions that draw a new question, by kind."""
    page = Page(limit=100)

    def of_application() -> dict[str, str]:
        return {"application": draws.application()}

    return {
        "app_week_flame": lambda: FlameTreeQuestion(draws.week(**of_application()), _NODES),
        "app_week_table": lambda: TableQuestion(draws.week(**of_application()), ("function",), page),
        "fleet_month_table": lambda: TableQuestion(draws.month(), ("function",), page),
        "fleet_month_applications": lambda: TableQuestion(draws.month(), ("application",), page),
        "raw_filter": lambda: TableQuestion(
            draws.week(**of_application(), version=draws.version()), ("function",)
        ),
        "callers": lambda: CallersQuestion(draws.week(**of_application()), Subject(draws.one_of(hot))),
        "series_week": lambda: SeriesQuestion(
            draws.week(**of_application()), ("function",), _LINES, step_s=3600
        ),
    }


@dataclass
class Answered:
    """Milliseconds by kind of question."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Questions of each kind that exceeded their time or memory; they count with the time until then."""

    def p95(self, kind: str) -> float:
        """95th percentile in milliseconds."""
        return float(np.percentile(self.ms[kind], 95))

    def says(self, kind: str) -> str:
        """The median, the number of questions, and the number refused."""
        refused = f", {self.refused[kind]} refused for their time or memory" if self.refused.get(kind) else ""
        return f"median {np.median(self.ms[kind]):.1f} of {len(self.ms[kind])}{refused}"

    def add(self, kind: str, answer: Callable[[], object]) -> None:
        """Time one response."""
        began = time.perf_counter()
        try:
            answer()
        except BudgetExceeded:
            self.refused[kind] = self.refused.get(kind, 0) + 1
        self.ms.setdefault(kind, []).append((time.perf_counter() - began) * 1e3)


class QueryRunner:
    """A query engine that has mapped the file of stacks and names."""

    def __init__(self, url: str, folder: Path) -> None:
        """The file is in a folder below `folder`, and is built if missing."""
        self._engine = open_engine(url, application="bench")
        self.queries = QueryEngine(self._engine, files=StackFiles(folder / "stacks"))

    def __enter__(self) -> Self:
        """Wait for the file. This process then has the API's memory settings."""
        share_arenas()
        reuse_arrays()
        trim_periodically(PAUSE_S)
        gc.collect()
        gc.freeze()  # a server's memory does not contain the data of earlier phases
        try:
            self.warm()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.queries.close()
        self._engine.dispose()

    def warm(self) -> None:
        """Wait until a file of stacks is mapped; questions read stacks that are newer than the file."""
        self.queries.warm()
        deadline = time.monotonic() + PATIENCE_S
        while self.queries.caches()["stack_file"].rows == 0:
            if time.monotonic() > deadline:
                raise TimeoutError("the stack file was not built in time")
            time.sleep(0.1)

    def hot(self, draws: Draws) -> list[int]:
        """The functions with the largest totals of the fleet's time."""
        page = Page(Sort.TOTAL_DESC, limit=_HOT)
        found = self.queries.ask(TableQuestion(draws.month(), ("function",), page))
        return [row.function_id for row in found.rows if row.function_id is not None]

    def ask(self, chosen: Mapping[str, Callable[[], Question[object]]], fast: int, slow: int) -> Answered:
        """Ask `fast` questions per kind, but `slow` for kinds that read chunks or decode everything."""
        found = Answered()
        for kind, draw in chosen.items():
            undecoded = kind.endswith(UNDECODED)
            for _ in range(_WARMING):
                Answered().add(kind, lambda: self.queries.ask(draw()))  # noqa: B023 - called at once
            for _ in range(slow if undecoded or kind in _READ_CHUNKS else fast):
                question = draw()
                if undecoded:
                    self.queries.forget_decoded()
                found.add(kind, lambda: self.queries.ask(question))  # noqa: B023 - called at once
        return found
