"""Sends tasks to the symbolizer; best effort, because the sweep sends them again.

The broker may be down, slow or lose messages: PostgreSQL has the list of what remains to be done
(`storage.captures.due`), so a lost task costs time, never data. No task is sent twice within `resend_s`:
a long queue would double with every sweep.
"""

import time
from collections.abc import Callable, Hashable, Iterable
from threading import Lock
from typing import Generic, TypeVar

from collector.outage import Outage

RESEND_S = 60.0
_PATIENCE_S = 1.0
"""The client of an absent broker may take seconds to fail; other threads wait no longer than this for it."""
_MOST_REMEMBERED = 100_000


_T = TypeVar("_T", bound=Hashable)


class Dispatch(Generic[_T]):
    """Sends tasks, which are identified by their argument; safe to call from several threads."""

    def __init__(
        self,
        send: Callable[[_T], None],
        *,
        resend_s: float = RESEND_S,
        clock: Callable[[], float] = time.monotonic,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """`send` puts one task on the queue or raises what its broker's client raises; `failed` is called then."""
        self._send = send
        self._failed = failed
        self._resend_s = resend_s
        self._clock = clock
        self._outage = Outage("the broker", clock=clock)
        self._not_before = 0.0
        self._sent: dict[_T, float] = {}
        self._lock = Lock()

    def __call__(self, tasks: Iterable[_T]) -> int:
        """Send the tasks that were not sent recently; the number sent.

        Stops for a while at the first failure. Sends nothing while another thread waits for a broker that does
        not answer.
        """
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return 0
        try:
            now = self._clock()
            if now < self._not_before:
                return 0
            self._forget(now)
            return sum(self._sent_now(task, now) for task in tasks if task not in self._sent)
        finally:
            self._lock.release()

    def _sent_now(self, task: _T, now: float) -> bool:
        if now < self._not_before:
            return False
        try:
            self._send(task)
        except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
            self._not_before = max(now, self._clock()) + self._outage.failed(error)
            self._failed()
            return False
        self._outage.over()
        self._sent[task] = now
        return True

    def _forget(self, now: float) -> None:
        """Drop the tasks that may be sent again; entries are in the order they were sent."""
        while self._sent:
            oldest = next(iter(self._sent))
            if now - self._sent[oldest] < self._resend_s and len(self._sent) <= _MOST_REMEMBERED:
                return
            del self._sent[oldest]
