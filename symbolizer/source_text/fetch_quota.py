"""How many sources may be fetched from other servers for this one's readers."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

_HOUR_S: Final = 3600.0


class FetchQuota:
    """So many fetches in any hour. Safe to share between threads."""

    def __init__(self, per_hour: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` tells seconds."""
        self._per_hour = per_hour
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: deque[float] = deque()

    def take(self) -> float:
        """Take one fetch: 0; seconds until the next is allowed if this is not."""
        now = self._clock()
        with self._lock:
            while self._taken and self._taken[0] <= now - _HOUR_S:
                self._taken.popleft()
            if len(self._taken) >= self._per_hour:
                return self._taken[0] + _HOUR_S - now if self._taken else _HOUR_S
            self._taken.append(now)
            return 0.0
