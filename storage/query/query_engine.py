"""The query engine, which answers questions about profiles; an API process has one."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.database import snapshot
from storage.errors import StorageError
from storage.query.access_path import Planner
from storage.query.estimation.covered_time import facts_horizon
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection, selections_of
from storage.query.stacks.files import StackFiles
from storage.query.store_reading import StoreQuestion, StoreReading
from storage.snapshots.decoded_cache import DEFAULT_BYTES, CacheSize, DecodedCache
from storage.snapshots.query_budget import Budget, Limits, budget_of
from storage.snapshots.snapshot_cache import caching_snapshot

_OVERLAY_LEAST = 5_000
"""Nodes that the overlay may always have; above this, the file is rebuilt if the overlay is that share of the tree."""
_OVERLAY_SHARE = 8
_OLDER_NODES = 4_000_000
"""Nodes of stacks of older days, some 600 MB: above this the next query of older days starts with an empty tree."""
_FIRST_REST_S = 60.0
"""Delay after a failed build; each further failure doubles it."""
_LONGEST_REST_S = 3600.0

_Answer = TypeVar("_Answer")

log = logging.getLogger(__name__)


class OlderDays(Protocol):
    """Days whose facts were dropped from PostgreSQL."""

    def reading(
        self, connection: Connection, source: SampleSource, selections: Sequence[Selection]
    ) -> AbstractContextManager[StoreReading]:
        """A reading of the snapshot and of these days, as far as the selections need them."""
        ...

    def close(self) -> None:
        """Close resources that stay open between queries."""
        ...


class QueryEngine:
    """Answers selections; each answer is of one snapshot. Thread-safe.

    It caches stacks, functions, and decoded cells and chunks whose rows have not changed (`caches`), so the next answer
    includes everything that is ingested.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        limits: Limits | None = None,
        files: StackFiles | None = None,
        cache_bytes: int = DEFAULT_BYTES,
        older: Callable[[], OlderDays] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an engine; `limits` bound each query, `cache_bytes` the decoded cells and chunks.

        `files` has the stack files that `warm` maps. `older` opens the days whose facts were dropped from PostgreSQL,
        at the first query of them; None: they are not covered. `clock` returns seconds.
        """
        self._engine = engine
        self._limits = limits or Limits()
        self._decoded = DecodedCache(cache_bytes)
        self._source = SampleSource(cache=self._decoded)
        self._files = files
        self._open_older = None if older is None else cache(older)
        self._older_source: SampleSource | None = None
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="stack-file")
        self._building = threading.Lock()
        self._clock = clock
        self._failures = 0
        """Consecutive failures to build the file."""
        self._not_before = math.inf
        """Time of `clock` from which queries may rebuild the file; infinite before `warm`."""

    def ask(self, question: StoreQuestion[_Answer]) -> _Answer:
        """Answer the question. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`, `BudgetExceeded`.

        Raises `QuestionDropped` if an offered budget (`storage.snapshots.query_budget`) was stopped.
        """
        budget = budget_of(self._limits)
        with budget.running(), self._reading(budget, selections_of(question)) as reading:
            return question.answer(reading)

    @property
    def planner(self) -> Planner:
        """Chooses the access path of each query; a new planner applies to queries that begin later."""
        return self._source.planner

    @planner.setter
    def planner(self, planner: Planner) -> None:
        self._source.planner = planner

    def budget(self) -> Budget:
        """A budget to offer with a question, for callers that may have to stop it."""
        return Budget(self._limits)

    def forget_decoded(self) -> None:
        """Drop all decoded cells and chunks: the next query reads and decodes its own."""
        self._decoded.clear()

    def caches(self) -> dict[str, CacheSize]:
        """The caches between queries, by name."""
        source = self._source
        return {
            "stacks": source.stacks.size,
            "stack_file": CacheSize(source.file.stacks, source.file.bytes),
            "functions": source.functions.size,
            "decoded": self._decoded.size,
        }

    def warm(self) -> None:
        """Map the file of all stacks and names, or have it built if it is missing; queries are answered meanwhile.

        From then on it is rebuilt as they grow: for processes that answer many queries. Does nothing without `files`.
        """
        if self._files is None:
            return
        self._not_before = 0.0
        outdated = True
        try:
            outdated = self._map(self._files)
        except StorageError as error:
            log.warning("the stack file is not mapped yet: %s", error)
        if outdated:
            self._renew(self._files)

    def close(self) -> None:
        """Stop a running build; the database engine belongs to the caller."""
        if self._files is not None:
            self._files.close()
        self._builder.shutdown(cancel_futures=True)
        if self._open_older is not None and self._open_older.cache_info().currsize:
            self._open_older().close()

    @contextmanager
    def _reading(self, budget: Budget, selections: Sequence[Selection]) -> Iterator[StoreReading]:
        source = self._source
        # If this process dies during a statement, only this timeout ends it.
        most_ms = max(1, int(self._limits.seconds * 1000))
        with snapshot(self._engine) as connection, budget.attached(connection):
            connection.execute(text(f"SET LOCAL statement_timeout = {most_ms}"))
            partitions.keep(connection)
            with caching_snapshot(connection), self._tier(connection, source, selections) as reading:
                yield reading
        stacks = self._source.stacks
        large = stacks.overlay_nodes > max(_OVERLAY_LEAST, stacks.nodes // _OVERLAY_SHARE)
        if large and self._files is not None and self._clock() >= self._not_before:
            self._renew(self._files)

    def _tier(
        self, connection: Connection, source: SampleSource, selections: Sequence[Selection]
    ) -> AbstractContextManager[StoreReading]:
        """PostgreSQL's reading, with older days if the selections need them."""
        if self._open_older is None or not selections:
            return nullcontext(StoreReading(connection, source))
        first = facts_horizon(connection)
        if all(selection.start >= first for selection in selections):
            return nullcontext(StoreReading(connection, source))
        # Stacks of old days are not in the file of current ones, so they have a tree of their own, of limited size.
        older = self._older_source
        if older is None or older.file is not source.file or older.stacks.overlay_nodes > _OLDER_NODES:
            self._older_source = older = SampleSource(source.file, self._decoded, source.planner)
        older.planner = source.planner
        return self._open_older().reading(connection, older, selections)

    def _map(self, files: StackFiles) -> bool:
        """Map the current file if it is another one; return whether one has to be built. Raises `StorageError`."""
        with snapshot(self._engine) as connection:
            file = files.open(connection)
            outdated = file is None or files.outdated(connection, file)
        if file is not None and file.token != self._source.file.token:
            self._source = SampleSource(file, self._decoded, self.planner)
            self._older_source = None
        return outdated

    def _renew(self, files: StackFiles) -> None:
        """Build a file with the overlay's content, in a thread, unless a build is running."""
        if self._building.acquire(blocking=False):
            self._builder.submit(self._rebuild, files)

    def _rebuild(self, files: StackFiles) -> None:
        try:
            files.build(self._engine.url, self._source.file.token)
            self._map(files)
            self._failures = 0
        except Exception:
            # Queries read missing stacks themselves, but each would start a build again, and its cause, a damaged stack
            # or a full disk, still exists a moment later.
            rest_s = min(_FIRST_REST_S * 2.0**self._failures, _LONGEST_REST_S)
            self._not_before = self._clock() + rest_s
            self._failures += 1
            log.exception("the stack file was not built; the next query after %.0f s tries again", rest_s)
        finally:
            self._building.release()
