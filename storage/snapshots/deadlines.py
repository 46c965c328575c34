"""What is to happen at some moment unless it is called off before: one thread waits for all of it.

A timer of its own for each question is a thread that is begun, waited for and ended, and on a busy machine each of
these waits for its turn; as a rule nothing is ever due.
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
    """None: it was called off."""


class Deadlines:
    """Safe to share between threads; its own thread begins with the first deadline, and ends with the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, _Due]] = []
        """A heap by moment; what was called off stays until then."""
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    @contextmanager
    def after(self, seconds: float, call: Callable[[], None]) -> Iterator[None]:
        """Call from another thread after so many seconds, unless the block has ended by then.

        It is one of its own if there is one to be had. Raises `RuntimeError` if there is none to wait in.
        """
        due = _Due(call)
        try:
            with self._changed:
                entry = (self._clock() + seconds, next(self._numbers), due)
                heapq.heappush(self._waiting, entry)
                if (
                    self._thread is None or not self._thread.is_alive()
                ):  # a forked process has none of its parent's
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
                # It may speak to a server that is slow to answer: the next one is not to wait for that.
                try:
                    threading.Thread(target=call, name="deadline", daemon=True).start()
                except RuntimeError:  # there are as many threads as may be: then the next one waits
                    _call_here(call)

    def _next(self) -> _Due:
        """Wait for what is due, and take it out."""
        with self._changed:
            while True:
                left = self._waiting[0][0] - self._clock() if self._waiting else None
                if left is not None and left <= 0:
                    return heapq.heappop(self._waiting)[2]
                self._changed.wait(left)


def _call_here(call: Callable[[], None]) -> None:
    """As in a thread of its own: an error is told, and ends nothing else."""
    try:
        call()
    except Exception:  # noqa: BLE001 - told as threads do
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
