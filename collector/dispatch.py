"""Telling the symbolizer which captures to land; best effort, because the sweep tells again.

The broker may be down, slow or forgetful: PostgreSQL knows what remains to be done
(`storage.captures.due`), so a task that is lost costs time, never data. A capture is not sent twice
within `resend_s`, else a long queue would double with every sweep.
"""

import time
from collections.abc import Callable, Iterable
from threading import Lock

from collector.outage import Outage
from storage.captures import Due

RESEND_S = 60.0
_PATIENCE_S = 1.0
"""A client of a broker that is away may take seconds to say so; nobody else waits that long."""
_MOST_REMEMBERED = 100_000


class Dispatch:
    """Sends landing tasks; safe to call from several threads."""

    def __init__(
        self,
        send: Callable[[Due], None],
        *,
        resend_s: float = RESEND_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`send` puts one task on the queue or raises whatever its broker's client raises."""
        self._send = send
        self._resend_s = resend_s
        self._clock = clock
        self._outage = Outage("the broker", clock=clock)
        self._not_before = 0.0
        self._sent: dict[Due, float] = {}
        self._lock = Lock()

    def __call__(self, due: Iterable[Due]) -> int:
        """Send those not sent lately; the number sent.

        Gives up for a while at the first failure, and at once while another thread waits for a broker
        that does not answer.
        """
        if not self._lock.acquire(timeout=_PATIENCE_S):
            return 0
        try:
            now = self._clock()
            if now < self._not_before:
                return 0
            self._forget(now)
            return sum(self._sent_now(one, now) for one in due if one not in self._sent)
        finally:
            self._lock.release()

    def _sent_now(self, due: Due, now: float) -> bool:
        if now < self._not_before:
            return False
        try:
            self._send(due)
        except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
            self._not_before = max(now, self._clock()) + self._outage.failed(error)
            return False
        self._outage.over()
        self._sent[due] = now
        return True

    def _forget(self, now: float) -> None:
        """Drop what may be sent again; entries are in the order they were sent."""
        while self._sent:
            oldest = next(iter(self._sent))
            if now - self._sent[oldest] < self._resend_s and len(self._sent) <= _MOST_REMEMBERED:
                return
            del self._sent[oldest]
