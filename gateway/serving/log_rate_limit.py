"""A log that callers cannot flood: of one kind of line, a few at once and then one in a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BURST: Final = 10
_PERIOD_S: Final = 60.0


class LogRateLimit:
    """Decides which lines are written: `_BURST` of a kind a minute, and how many were not says the next one.

    Kinds are ours, never text of a caller's: they are remembered for good.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[str, tuple[float, int, int]] = {}

    def admit(self, kind: str) -> dict[str, int] | None:
        """Fields to add to the line (how many before it were left unsaid), or None: leave it unsaid."""
        now = self._clock()
        with self._lock:
            began, said, suppressed = self._kinds.get(kind, (now, 0, 0))
            if now - began >= _PERIOD_S:
                began, said = now, 0
            if said >= _BURST:
                self._kinds[kind] = began, said, suppressed + 1
                return None
            self._kinds[kind] = began, said + 1, 0
            return {"suppressed": suppressed} if suppressed else {}
