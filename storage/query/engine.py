"""The one object that answers questions about profiles; an API process has one of it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.database import snapshot
from storage.query.cache_size import CacheSize
from storage.query.cells import planner
from storage.query.copy_binary import TooMuch
from storage.query.facts.scan import SampleType, sample_type_of
from storage.query.samples import Samples, SampleSource
from storage.query.selections.selection import Selection
from storage.query.shapes import diff, flame, labels, reliability, status, table
from storage.query.shapes.diff import Comparison
from storage.query.shapes.flame import Flame
from storage.query.shapes.labels import Labels
from storage.query.shapes.reliability import Reliability
from storage.query.shapes.status import CapturesStatus, Status
from storage.query.shapes.table import Page, Table
from storage.query.shapes.totals import Totals, totals
from storage.rolling.fold import overdue

_OVERLAY_LEAST = 5_000
"""Nodes the overlay may have before the base is built again, if they are also that share of the tree."""
_OVERLAY_SHARE = 8
_FIRST_REST_S = 60.0
"""Until a tree is built again after that failed; each further failure doubles it."""
_LONGEST_REST_S = 3600.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """A table and what it was made of."""

    kind: SampleType
    totals: Totals
    table: Table


@dataclass(frozen=True, slots=True)
class FlameAnswer:
    """A flame graph and what it was made of."""

    kind: SampleType
    totals: Totals
    flame: Flame


@dataclass(frozen=True, slots=True)
class DiffAnswer:
    """Two selections compared, and what they were made of."""

    kind: SampleType
    totals: Totals
    base_totals: Totals
    by: tuple[str, ...]
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class ReliabilityAnswer:
    """How far a profile can be trusted, and what it was made of."""

    kind: SampleType
    totals: Totals
    by: tuple[str, ...]
    reliability: Reliability


class QueryEngine:
    """Answers selections; each answer is of one snapshot. Safe to share between threads.

    It remembers stacks and functions (`caches`), never samples: what has landed is in the next answer.
    """

    def __init__(
        self, engine: Engine, *, timeout_s: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`timeout_s` bounds each statement; past it `storage.errors.DatabaseBusy` is raised.

        `clock` tells seconds.
        """
        self._engine = engine
        self._timeout_ms = max(1, int(timeout_s * 1000))
        self._source = SampleSource()
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="stack-tree")
        self._building = threading.Lock()
        self._kept_warm = False
        self._clock = clock
        self._failures = 0
        """Times in a row that the tree could not be built."""
        self._not_before = 0.0
        """By the clock: when queries may have it built again."""

    def table(self, selection: Selection, by: Sequence[str], page: Page) -> TableAnswer:
        """The selection's samples, grouped. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        names, frame = table.split_keys(by)
        with self._reading() as (connection, source):
            samples = _samples(connection, source, selection, names, frame)
            found = table.tabulate(connection, source.functions, samples, by, page)
        return TableAnswer(samples.kind, totals(source.functions, samples), found)

    def flame(self, selection: Selection, max_nodes: int) -> FlameAnswer:
        """The selection's samples as a tree of calls. Raises as `table` does."""
        with self._reading() as (connection, source):
            samples = _samples(connection, source, selection, (), "function")
        drawn = flame.draw(source.functions, samples, max_nodes)
        return FlameAnswer(samples.kind, totals(source.functions, samples), drawn)

    def diff(
        self, selection: Selection, base: Selection, by: Sequence[str], *, limit: int = 100, own: bool = False
    ) -> DiffAnswer:
        """The rows that are heaviest in a selection or its base, compared as totals or as self.

        The base's event is the selection's. Raises as `table` does.
        """
        names, _ = table.split_keys(by)
        with self._reading() as (connection, source):
            a, b = (source.read(connection, side, names) for side in (selection, base))
            found = diff.diff(connection, source.functions, a, b, by, limit=limit, own=own)
        a_totals, b_totals = (totals(source.functions, side) for side in (a, b))
        return DiffAnswer(a.kind, a_totals, b_totals, tuple(by), found)

    def reliability(self, selection: Selection, by: Sequence[str]) -> ReliabilityAnswer:
        """How far the selection's profile by these keys can be trusted. Raises as `table` does."""
        names, _ = table.split_keys(by)
        with self._reading() as (connection, source):
            samples = source.read(connection, selection, names)
            found = reliability.reliability(connection, source.functions, samples, by)
        return ReliabilityAnswer(samples.kind, totals(source.functions, samples), tuple(by), found)

    def samples(self, selection: Selection, by: Sequence[str] = ()) -> Samples:
        """The selection's samples themselves, with the ids of these labels."""
        with self._reading() as (connection, source):
            return source.read(connection, selection, tuple(by))

    def labels(self, selection: Selection, *, limit: int = 20, find: str = "") -> Labels:
        """The labels that the selection's profiles have. Raises as `table` does."""
        with self._reading() as (connection, _):
            return labels.list_labels(connection, selection, limit=limit, find=find)

    def status(self) -> Status:
        """How the fleet is covered, and what is wrong."""
        with self._reading() as (connection, _):
            return status.read_status(connection)

    def captures(self) -> CapturesStatus:
        """What waits to be landed."""
        with self._reading() as (connection, _):
            return status.captures_status(connection)

    def days_unfolded(self) -> int:
        """How many days are over and have no cells but those of their hours."""
        with self._reading() as (connection, _):
            return len(overdue(connection, datetime.now(UTC)))

    def caches(self) -> dict[str, CacheSize]:
        """What is kept between queries, by name."""
        source = self._source
        return {"stacks": source.stacks.size, "functions": source.functions.size}

    def warm(self) -> None:
        """Begin to load all stacks, in a thread; queries answer meanwhile.

        From then on the tree is kept in order as it grows: for processes that answer many questions.
        """
        self._kept_warm = True
        if self._building.acquire(blocking=False):
            self._builder.submit(self._rebuild)

    def close(self) -> None:
        """Wait for the thread; the database engine stays its owner's."""
        self._builder.shutdown(cancel_futures=True)

    @contextmanager
    def _reading(self) -> Iterator[tuple[Connection, SampleSource]]:
        """A snapshot, and what its answer is made by from beginning to end."""
        source = self._source
        with snapshot(self._engine) as connection:
            connection.execute(text(f"SET LOCAL statement_timeout = {self._timeout_ms}"))
            partitions.keep(connection)
            yield connection, source
        stacks = self._source.stacks
        if not self._kept_warm or (self._failures and self._clock() < self._not_before):
            return
        if stacks.overlay_nodes > max(_OVERLAY_LEAST, stacks.nodes // _OVERLAY_SHARE):
            self.warm()

    def _rebuild(self) -> None:
        try:
            with snapshot(self._engine) as connection:
                self._source = self._source.renewed(connection)
            self._failures = 0
        except Exception:
            # Queries bring what they need themselves; but each of them would begin this anew, and what is
            # wrong, a damaged stack or too many of them, is still wrong a moment later.
            rest_s = min(_FIRST_REST_S * 2.0**self._failures, _LONGEST_REST_S)
            self._not_before = self._clock() + rest_s
            self._failures += 1
            log.exception("the tree of all stacks was not built; queries try that again in %.0f s", rest_s)
        finally:
            self._building.release()


def _samples(
    connection: Connection,
    source: SampleSource,
    selection: Selection,
    labels: tuple[str, ...],
    frame: str | None,
) -> Samples:
    """By the cells that can tell, else by the chunks of every visit."""
    kind = sample_type_of(connection, selection)
    plan = planner.plan(connection, selection, kind, labels, frame=frame)
    samples = None
    if plan is not None:
        with suppress(TooMuch):  # of chunks a random part can be read
            samples = source.read_merged(connection, selection, kind, plan)
    return samples or source.read(connection, selection, labels)
