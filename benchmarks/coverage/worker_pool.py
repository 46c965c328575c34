"""Processes that write campaigns and run queries, one per CPU."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from analysis import estimate, moments
from benchmarks.coverage.plan import PER_HOUR, busyness_of, name_of, start_of, visits_of
from benchmarks.coverage.store import Writer
from storage.database import open_engine
from storage.query.query_engine import QueryEngine
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from benchmarks.coverage.fleet import Fleet, Float, Int
    from benchmarks.coverage.plan import Kind, Window

Task = TypeVar("Task")
Result = TypeVar("Result")
_ALL: Final = Page(limit=1000)


@dataclass(frozen=True)
class Answered:
    """The product's estimates for a window; one entry per function."""

    share: Float
    lo: Float
    hi: Float
    low_confidence: Float
    total: float
    """Nanoseconds of CPU of the whole fleet, like the two below."""
    total_lo: float
    total_hi: float
    ingested: int
    path: str


@dataclass(frozen=True)
class Compared:
    """The product's comparison of two windows."""

    significant: frozenset[str]
    power: float
    """Stated probability to find a change by half of a function of one percent."""


@dataclass
class _Member:
    """Resources of one process."""

    fleet: Fleet
    writer: Writer
    queries: QueryEngine
    seed: int


_member: _Member | None = None


class WorkerPool:
    """Runs functions of this module in separate processes."""

    def __init__(self, url: str, fleet: Fleet, machines: Int, seed: int) -> None:
        self._processes = ProcessPoolExecutor(
            len(os.sched_getaffinity(0)),
            mp_context=get_context("spawn"),
            initializer=_join,
            initargs=(url, fleet, machines, seed),
        )

    def each(self, do: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Results in the order of the tasks, each as soon as it is available."""
        return self._processes.map(do, tasks)

    def close(self) -> None:
        """End the processes."""
        self._processes.shutdown(cancel_futures=True)


def write(campaign: tuple[int, Kind]) -> int:
    """Make one campaign's visits and ingest them; returns the number of visits drawn."""
    member = _me()
    number, kind = campaign
    hours = visits_of(member.fleet, number, member.seed, kind)
    paces = [PER_HOUR * factor for factor in busyness_of(kind)]
    member.writer.write(name_of(number, kind), hours, paces, start_of(number))
    return sum(len(hour.machine) for hour in hours)


def ask(window: Window) -> Answered:
    """The table of functions of a window, with its intervals."""
    member = _me()
    answer = member.queries.ask(TableQuestion(window.selection, ("function",), _ALL))
    place = {name: number for number, name in enumerate(member.fleet.names)}
    ingested = answer.totals.visits_ingested
    # A function without samples has no row; its interval is that of zero in the same number of visits.
    unseen = float(estimate.shares(_nothing_seen(ingested)).hi[0])
    count = len(place)
    share, lo, hi, low_confidence = np.zeros(count), np.zeros(count), np.full(count, unseen), np.ones(count)
    for row in answer.rows:
        at = place[row.key["function"]]
        assert row.total_lo is not None, "a campaign's visits are a random sample"
        assert row.total_hi is not None
        share[at], lo[at], hi[at] = row.total_share, row.total_lo, row.total_hi
        low_confidence[at] = row.low_confidence
    whole = answer.totals.estimate
    assert whole is not None, "a campaign's visits are a random sample"
    return Answered(
        share, lo, hi, low_confidence, whole.value, whole.lo, whole.hi, ingested, answer.totals.path
    )


def compare(windows: tuple[Window, Window]) -> Compared:
    """Which functions differ between two windows."""
    member = _me()
    ours, base = windows
    found = member.queries.ask(
        DiffQuestion(ours.selection, base.selection, ("function",), limit=len(member.fleet.names))
    )
    assert found.power is not None, "a campaign's visits are a random sample"
    return Compared(
        frozenset(row.key["function"] for row in found.rows if row.significant), found.power.power
    )


def _nothing_seen(ingested: int) -> moments.Moments:
    """Moments of a function without samples in this many equal visits."""
    one = np.zeros(1)
    return moments.Moments(
        one,
        float(ingested),
        one,
        one,
        0.0,
        one,
        one,
        float(ingested),
        np.zeros(1, np.int64),
        ingested,
        ingested - 1,
    )


def _join(url: str, fleet: Fleet, machines: Int, seed: int) -> None:
    global _member  # noqa: PLW0603 - a pool's process has no other place for what it keeps
    engine = open_engine(url, application="coverage")
    _member = _Member(fleet, Writer(engine, fleet, machines), QueryEngine(engine), seed)


def _me() -> _Member:
    assert _member is not None, "only a pool's processes call this"
    return _member
