"""Rate limit for log lines that clients can cause: a burst of each kind, then a few a minute."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BURST: Final = 10
_PERIOD_S: Final = 60.0


class LogRateLimit:
    """Admits `_BURST` lines of a kind a minute; the next admitted line carries the number of suppressed ones.

    Kinds are constants of this program, never client input: they are stored forever.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[str, tuple[float, int, int]] = {}

    def admit(self, kind: str) -> dict[str, int] | None:
        """Fields to add to the line (the number of lines suppressed before it); None: suppress the line."""
        now = self._clock()
        with self._lock:
            began, logged, suppressed = self._kinds.get(kind, (now, 0, 0))
            if now - began >= _PERIOD_S:
                began, logged = now, 0
            if logged >= _BURST:
                self._kinds[kind] = began, logged, suppressed + 1
                return None
            self._kinds[kind] = began, logged + 1, 0
            return {"suppressed": suppressed} if suppressed else {}
