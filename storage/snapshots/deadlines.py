"""Cancellable timeouts: one thread waits for all of them.

A timer thread per query has to be started, waited for and ended, and on a busy machine each of these waits to be
scheduled; deadlines are rarely reached.
"""

import heapq
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Due:
    call: Callable[[], None] | None
    """None if it was cancelled."""


class Deadlines:
    """Thread-safe. Its own thread starts with the first deadline, and ends with the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, _Due]] = []
        """A heap by time; cancelled entries stay until their time."""
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def after(self, seconds: float, call: Callable[[], None]) -> Iterator[None]:
        """Call `call` from another thread after `seconds`, unless the block has ended by then.

        It gets its own thread if one can be started. Raises `RuntimeError` if the waiting thread cannot be started.
        """
        due = _Due(call)
        try:
            with self._changed:
                entry = (self._clock() + seconds, next(self._numbers), due)
                heapq.heappush(self._waiting, entry)
                if (
                    self._thread is None or not self._thread.is_alive()
                ):  # a forked process has no threads of its parent
                    self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                    self._thread.start()
                elif self._waiting[0] is entry:
                    self._changed.notify()
            yield
        finally:
            due.call = None

    def _run(self) -> None:
        while True:
            call = self._next().call
            if call is not None:
                # It may wait for a slow server, which must not delay the next one.
                try:
                    threading.Thread(target=call, name="deadline", daemon=True).start()
                except RuntimeError:  # no thread can be started: the next one then waits
                    _call_here(call)

    def _next(self) -> _Due:
        """Wait for the next due entry, and remove it."""
        with self._changed:
            while True:
                left = self._waiting[0][0] - self._clock() if self._waiting else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(left)


def _call_here(call: Callable[[], None]) -> None:
    """As in its own thread: an error is reported, and affects nothing else."""
    try:
        call()
    except Exception:  # noqa: BLE001 - reported as by threading.excepthook
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
