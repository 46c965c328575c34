"""Limits the sources that are fetched from other servers for readers of this one."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

_HOUR_S: Final = 3600.0


class FetchQuota:
    """A limited number of fetches in any hour. Safe to share between threads."""

    def __init__(self, per_hour: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._per_hour = per_hour
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()

    def take(self) -> float:
        """Take one fetch and return 0, or return the seconds until the next one is allowed."""
        now = self._clock()
        with self._lock:
            while self._taken and self._taken[0] <= now - _HOUR_S:
                self._taken.popleft()
            if len(self._taken) >= self._per_hour:
                return self._taken[0] + _HOUR_S - now if self._taken else _HOUR_S
            self._taken.append(now)
            return 0.0
