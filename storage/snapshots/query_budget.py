"""What one question may take: seconds over all it does, bytes it reads and unpacks, and until somebody calls it off.

A question's thread has its budget as a context variable, so what reads and adds up says `checkpoint()` or
`take(bytes)` without being handed anything. Another thread stops it (`Budget.stop`): the statement under way is
cancelled at the server, and arrays at the next checkpoint.

    thread of the question     running(budget) ── attached(connection) ── take ── checkpoint ── …
    its deadline, or whoever asked                     stop(why)
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
"""In what a connection carries along: when its statement under way began."""


class Stop(StrEnum):
    """Why a question goes no further."""

    TIME = "time"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a question may take at most."""

    seconds: float = 30.0
    bytes: int = 2 << 30
    """Read from the database and unpacked, added up: about what it holds at its largest moment, or more."""


class Budget:
    """What is left for one question. `stop` may be called from any thread, the rest from the question's own."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._why: Stop | None = None
        self._detached: threading.Event | None = None
        self._driver: object = None
        """The psycopg2 connection whose statements are this question's."""
        self._taken = 0
        self.asked_s = 0.0
        """Seconds that questions have run, those waited for the database among them; added up when a question ends."""
        self.database_s = 0.0
        """Seconds waited for the database, for a connection as for statements."""
        self.fewest_samples: int | None = None
        """Samples behind the answer, of several selections behind the one with fewest; None: no totals were made."""
        self._connecting_since: float | None = None
        self._over_at = inf
        """By `perf_counter`: when its time is over, while it runs."""

    @property
    def stopped(self) -> bool:
        """Somebody called it off, or its time is over."""
        return self._why is not None

    @property
    def bytes_left(self) -> int:
        """How much may be read still."""
        return max(self.limits.bytes - self._taken, 0)

    def stop(self, why: Stop) -> None:
        """Have it end: the statement under way now, all else at the next checkpoint. The first reason counts.

        Returns when no statement of it can be under way any more.
        """
        with self._lock:
            if self._why is not None:
                return
            self._why = why
            self._detached = threading.Event() if self._driver is not None else None
            detached = self._detached
        # A statement that begins just after a cancellation is not cancelled by it: so, again.
        while detached is not None and not detached.wait(0 if self._cancelled() else _AGAIN_S):
            pass

    def _cancelled(self) -> bool:
        """Cancel what the connection does, if it is this question's still; True: it is not."""
        with self._lock:
            if not isinstance(self._driver, psycopg2.extensions.connection):
                return True
            # It is broken or closed already: nothing runs there.
            with suppress(psycopg2.Error):
                self._driver.cancel()
            return False

    def check(self) -> None:
        """Return if it may go on. Raises `BudgetExceeded`, `QuestionDropped`."""
        match self._why:
            case None:
                return
            case Stop.TIME:
                raise BudgetExceeded(
                    f"The question takes more than {self.limits.seconds:g} seconds.",
                    limit="time",
                    hint='Choose a shorter time range, or add a matcher, e.g. application="…".',
                )
            case Stop.DROPPED:
                raise QuestionDropped("The client no longer waits for the answer.")

    def take(self, size: int) -> None:
        """Note that so many bytes are about to be held. Raises as `check` does."""
        self.check()
        self._taken += size
        if self._taken > self.limits.bytes:
            raise BudgetExceeded(
                f"The question needs more than the {self.limits.bytes // _MIB:,} MiB that are there for one.",
                limit="memory",
                hint='Choose a shorter time range, or add a matcher, e.g. application="…".',
            )

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """What is taken inside is free again if it fails: for what is tried and then done otherwise."""
        before = self._taken
        try:
            yield
        except Exception:
            self._taken = before
            raise

    @contextmanager
    def running(self) -> Iterator[None]:
        """The question runs here: `checkpoint` and `take` are this budget's, and its clock goes."""
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
        """Statements of this connection are cancelled if the question is stopped.

        A cancelled connection is never used again: the server may get to the request only when the next
        statement runs.
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
            # That a statement was cancelled is no fault of the server's, which on a busy machine is the first to see
            # that the time is over: its own limit ended the statement before the clock's thread had its turn.
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
    """The next question asked inside, or in a thread begun inside, has this budget instead of one of its own."""
    token = _NEXT.set(budget)
    try:
        yield
    finally:
        _NEXT.reset(token)


def budget_of(limits: Limits) -> Budget:
    """The budget that was offered, else a new one."""
    return _NEXT.get() or Budget(limits)


def checkpoint() -> None:
    """Return if the question of this thread may go on, or there is none. Raises as `Budget.check` does."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.check()


def take(size: int) -> None:
    """Note that this thread's question, if there is one, is about to hold so many bytes. Raises as `Budget.check` does."""
    budget = _CURRENT.get()
    if budget is not None:
        budget.take(size)


def note_samples(samples: int) -> None:
    """Note on this thread's question, if there is one, that so many samples are behind a part of its answer."""
    budget = _CURRENT.get()
    if budget is not None:
        before = budget.fewest_samples
        budget.fewest_samples = samples if before is None else min(before, samples)


def count_waits(engine: Engine) -> None:
    """Have this engine's statements counted in `Budget.database_s` of the question that executes them."""
    event.listen(engine, "before_cursor_execute", _statement_begins)
    event.listen(engine, "after_cursor_execute", _statement_has_run)


def _statement_begins(connection: Connection, *_: Any) -> None:
    if _CURRENT.get() is not None:
        connection.info[_BEGUN] = perf_counter()


def _statement_has_run(connection: Connection, *_: Any) -> None:
    """Note how long; psycopg2 has all of its rows by now. One that failed is in no answer."""
    budget = _CURRENT.get()
    begun = connection.info.pop(_BEGUN, None)
    if budget is not None and begun is not None:
        budget.database_s += perf_counter() - begun


@contextmanager
def given_back() -> Iterator[None]:
    """As `Budget.given_back`, of this thread's question if there is one."""
    budget = _CURRENT.get()
    if budget is None:
        yield
        return
    with budget.given_back():
        yield
