"""The limits of one query: seconds, bytes that it reads and unpacks, and cancellation.

A query's thread has its budget as a context variable, so code that reads and sums calls `checkpoint()` or `take(bytes)`
without passing it on. Another thread stops it (`Budget.stop`): a running statement is cancelled at the server, numpy
work ends at the next checkpoint.

    thread of the query           running(budget) ── attached(connection) ── take ── checkpoint ── …
    its deadline, or its client                        stop(why)
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import psycopg2
from sqlalchemy import Connection, Engine, event

from storage.errors import BudgetExceeded, DatabaseError, QuestionDropped
from storage.snapshots.deadlines import Deadlines

_MIB = 1 << 20
_AGAIN_S = 0.05
_BEGUN = "statement begun"
"""Key in a connection's `info`: when its running statement began."""


class Stop(StrEnum):
    """Why a query was stopped."""

    TIME = "time"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a query."""

    seconds: float = 30.0
    bytes: int = 2 << 30
    """Read from the database and unpacked, in total: about its peak memory, or more."""


class Budget:
    """The remaining limits of one query. `stop` may be called from any thread, the rest from the query's own."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._why: Stop | None = None
        self._detached: threading.Event | None = None
        self._driver: object = None
        """The psycopg2 connection that runs this query's statements."""
        self._taken = 0
        self.asked_s = 0.0
        """Seconds that queries have run, including waits for the database; added when a query ends."""
        self.database_s = 0.0
        """Seconds waited for the database, for connections and for statements."""
        self.fewest_samples: int | None = None
        """Samples behind the answer, the fewest if it has several selections; None if no totals were computed."""
        self._connecting_since: float | None = None
        self._over_at = inf
        """Time of `perf_counter` at which its limit is reached, while it runs."""

    @property
    def stopped(self) -> bool:
        """Whether it was cancelled, or its time is over."""
        return self._why is not None

    @property
    def bytes_left(self) -> int:
        """Bytes that may still be read."""
        return max(self.limits.bytes - self._taken, 0)

    def stop(self, why: Stop) -> None:
        """Stop the query: cancel a running statement now, everything else at the next checkpoint.

        The first reason counts. Returns when no statement of it can be running.
        """
        with self._lock:
            if self._why is not None:
                return
            self._why = why
            self._detached = threading.Event() if self._driver is not None else None
            detached = self._detached
        # A cancellation does not affect a statement that begins just after it, so it is repeated.
        while detached is not None and not detached.wait(0 if self._cancelled() else _AGAIN_S):
            pass

    def _cancelled(self) -> bool:
        """Cancel the connection's statement if it still runs this query; True if it does not."""
        with self._lock:
            if not isinstance(self._driver, psycopg2.extensions.connection):
                return True
            # The connection is broken or closed already: nothing runs there.
            with suppress(psycopg2.Error):
                self._driver.cancel()
            return False

    def check(self) -> None:
        """Return if the query may continue. Raises `BudgetExceeded`, `QuestionDropped`."""
        match self._why:
            case None:
                return
            case Stop.TIME:
                raise BudgetExceeded(
                    f"The query takes more than {self.limits.seconds:g} seconds.",
                    limit="time",
                    hint='Choose a shorter time range, or add a matcher, e.g. application="…".',
                )
            case Stop.DROPPED:
                raise QuestionDropped("The client disconnected.")

    def take(self, size: int) -> None:
        """Charge bytes that are about to be held. Raises as `check` does."""
        self.check()
        self._taken += size
        if self._taken > self.limits.bytes:
            raise BudgetExceeded(
                f"The query needs more than {self.limits.bytes // _MIB:,} MiB, the memory limit of "
                "one query.",
                limit="memory",
                hint='Choose a shorter time range, or add a matcher, e.g. application="…".',
            )

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Refund the bytes taken inside the block if it fails, for attempts that have an alternative."""
        before = self._taken
        try:
            yield
        except Exception:
            self._taken = before
            raise

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the query in this block: `checkpoint` and `take` use this budget, and its time runs."""
        token = _CURRENT.set(self)
        begun = self._connecting_since = perf_counter()
        self._over_at = begun + self.limits.seconds
        try:
            with _DEADLINES.after(self.limits.seconds, partial(self.stop, Stop.TIME)):
                yield
        finally:
            self.asked_s += perf_counter() - begun
            _CURRENT.reset(token)

    @contextmanager
    def attached(self, connection: Connection) -> Iterator[None]:
        """Cancel statements of this connection if the query is stopped.

        A cancelled connection is never reused: the server may handle the request only when the next statement runs.
        """
        with self._lock:
            self._driver = connection.connection.driver_connection
        if self._connecting_since is not None:
            self.database_s += perf_counter() - self._connecting_since
            self._connecting_since = None
        try:
            self.check()
            yield
        except DatabaseError:
            # A cancelled statement is not a server error. On a busy machine the server may be the first to notice that
            # the time is over: its own timeout then ends the statement before the deadline's thread is scheduled.
            with self._lock:
                if self._why is None and perf_counter() >= self._over_at:
                    self._why = Stop.TIME
            self.check()
            raise
        finally:
            with self._lock:
                self._driver = None
                if self._detached is not None:
                    self._detached.set()
            if self.stopped:
                connection.invalidate()
        self.check()


_DEADLINES = Deadlines()
_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)
_NEXT: ContextVar[Budget | None] = ContextVar("next budget", default=None)


@contextmanager
def offered(budget: Budget) -> Iterator[None]:
    """The next query inside the block, or in a thread started inside, uses this budget and not one of its own."""
    token = _NEXT.set(budget)
    try:
        yield
    finally:
        _NEXT.reset(token)


def budget_of(limits: Limits) -> Budget:
    """The budget that was offered, else a new one."""
    return _NEXT.get() or Budget(limits)


def checkpoint() -> None:
    """Return if this thread's query may continue, or if there is none. Raises as `Budget.check` does."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.check()


def take(size: int) -> None:
    """Charge bytes to this thread's query, if there is one. Raises as `Budget.check` does."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.take(size)


def note_samples(samples: int) -> None:
    """Record on this thread's query, if there is one, the samples behind a part of its answer."""
    budget = _CURRENT.get()
    if budget is not None:
        before = budget.fewest_samples
        budget.fewest_samples = samples if before is None else min(before, samples)


def count_waits(engine: Engine) -> None:
    """Count this engine's statements in `Budget.database_s` of the query that executes them."""
    event.listen(engine, "before_cursor_execute", _statement_begins)
    event.listen(engine, "after_cursor_execute", _statement_has_run)


def _statement_begins(connection: Connection, *_: Any) -> None:
    if _CURRENT.get() is not None:
        connection.info[_BEGUN] = perf_counter()


def _statement_has_run(connection: Connection, *_: Any) -> None:
    """Add the statement's time; psycopg2 has all of its rows by now. A failed statement is part of no answer."""
    budget = _CURRENT.get()
    begun = connection.info.pop(_BEGUN, None)
    if budget is not None and begun is not None:
        budget.database_s += perf_counter() - begun


@contextmanager
def given_back() -> Iterator[None]:
    """As `Budget.given_back`, for this thread's query if there is one."""
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    with budget.given_back():
        yield
