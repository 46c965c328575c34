"""The one object that answers questions about profiles; an API process has one of it."""

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
"""Nodes the overlay may have before the file is built again, if they are also that share of the tree."""
_OVERLAY_SHARE = 8
_OLDER_NODES = 4_000_000
"""Of stacks of older days, some 600 MB: with more of them a question about older days begins anew."""
_FIRST_REST_S = 60.0
"""Until a build is tried again after one failed; each further failure doubles it."""
_LONGEST_REST_S = 3600.0

_Answer = TypeVar("_Answer")

log = logging.getLogger(__name__)


class OlderDays(Protocol):
    """Days whose facts PostgreSQL has no more."""

    def reading(
        self, connection: Connection, source: SampleSource, selections: Sequence[Selection]
    ) -> AbstractContextManager[StoreReading]:
        """A reading of the snapshot and of those of these days that the selections ask for."""
        ...

    def close(self) -> None:
        """Close what is open between questions."""
        ...


class QueryEngine:
    """Answers selections; each answer is of one snapshot. Safe to share between threads.

    It remembers stacks, functions and decoded cells and chunks whose rows are still the same (`caches`): what has been ingested is in the
    next answer.
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
        """`limits` bound each question, `cache_bytes` the decoded cells and chunks; `files` are where `warm` finds stacks and names.

        `older` opens the days whose facts PostgreSQL has no more, at the first question about them; None: they are not covered.
        `clock` tells seconds.
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
        """Times in a row that the file could not be built."""
        self._not_before = math.inf
        """By the clock: when queries may have it built again; never before `warm`."""

    def ask(self, question: StoreQuestion[_Answer]) -> _Answer:
        """The question's answer. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`, `BudgetExceeded`.

        And `QuestionDropped`, where a budget was offered (`storage.snapshots.query_budget`) and stopped.
        """
        budget = budget_of(self._limits)
        with budget.running(), self._reading(budget, selections_of(question)) as reading:
            return question.answer(reading)

    @property
    def planner(self) -> Planner:
        """Chooses the access path of each question; another one counts for the questions that begin from then on."""
        return self._source.planner

    @planner.setter
    def planner(self, planner: Planner) -> None:
        self._source.planner = planner

    def budget(self) -> Budget:
        """A budget to offer with a question, for whoever wants to be able to stop it."""
        return Budget(self._limits)

    def forget_decoded(self) -> None:
        """Keep no decoded cells and chunks of the questions so far: the next one reads and decodes its own."""
        self._decoded.clear()

    def caches(self) -> dict[str, CacheSize]:
        """What is kept between queries, by name."""
        source = self._source
        return {
            "stacks": source.stacks.size,
            "stack_file": CacheSize(source.file.stacks, source.file.bytes),
            "functions": source.functions.size,
            "decoded": self._decoded.size,
        }

    def warm(self) -> None:
        """Map the file of all stacks and names, if there is one, and have one built if not; queries answer meanwhile.

        From then on it is built again as they grow: for processes that answer many questions. Does nothing without `files`.
        """
        if self._files is None:
            return
        self._not_before = 0.0
        outdated = True
        try:
            outdated = self._map(self._files)
        except StorageError as error:
            log.warning("the file of stacks is not mapped yet: %s", error)
        if outdated:
            self._renew(self._files)

    def close(self) -> None:
        """End a build that is under way; the database engine stays its owner's."""
        if self._files is not None:
            self._files.close()
        self._builder.shutdown(cancel_futures=True)
        if self._open_older is not None and self._open_older.cache_info().currsize:
            self._open_older().close()

    @contextmanager
    def _reading(self, budget: Budget, selections: Sequence[Selection]) -> Iterator[StoreReading]:
        source = self._source
        # Should this process die with a statement under way, nobody else would end that.
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
        """PostgreSQL's reading, with older days where the selections ask for them."""
        if self._open_older is None or not selections:
            return nullcontext(StoreReading(connection, source))
        first = facts_horizon(connection)
        if all(selection.start >= first for selection in selections):
            return nullcontext(StoreReading(connection, source))
        # Stacks of old days are in no file of the present ones: they are kept apart, and not too many of them.
        older = self._older_source
        if older is None or older.file is not source.file or older.stacks.overlay_nodes > _OLDER_NODES:
            self._older_source = older = SampleSource(source.file, self._decoded, source.planner)
        older.planner = source.planner
        return self._open_older().reading(connection, older, selections)

    def _map(self, files: StackFiles) -> bool:
        """Take the file that is there, if it is another one; whether one is to be built. Raises `StorageError`."""
        with snapshot(self._engine) as connection:
            file = files.open(connection)
            outdated = file is None or files.outdated(connection, file)
        if file is not None and file.token != self._source.file.token:
            self._source = SampleSource(file, self._decoded, self.planner)
            self._older_source = None
        return outdated

    def _renew(self, files: StackFiles) -> None:
        """Have a file built that has what is in the overlay, in a thread, unless that is under way."""
        if self._building.acquire(blocking=False):
            self._builder.submit(self._rebuild, files)

    def _rebuild(self, files: StackFiles) -> None:
        try:
            files.build(self._engine.url, self._source.file.token)
            self._map(files)
            self._failures = 0
        except Exception:
            # Queries read what they need themselves; but each of them would begin this anew, and what is
            # wrong, a damaged stack or a full disk, is still wrong a moment later.
            rest_s = min(_FIRST_REST_S * 2.0**self._failures, _LONGEST_REST_S)
            self._not_before = self._clock() + rest_s
            self._failures += 1
            log.exception("the file of all stacks was not built; queries try that again in %.0f s", rest_s)
        finally:
            self._building.release()
