"""Visits this gateway has served: kept while its server process comes and goes.

The memory is an anonymous mapping shared by the waiting process and the servers it forks, so that a visit id
is refused the second time even if another server took the first.
"""

from __future__ import annotations

import mmap
import struct
import threading
import time
from typing import Final

REMEMBERED: Final = 4096
_ID_BYTES: Final = 16
# served, finished, start of the daemon by CLOCK_MONOTONIC
_HEADER: Final = struct.Struct("<QQd")


class Ledger:
    """Remembered visit ids, the newest `REMEMBERED` of them, and how many captures were finished."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _HEADER.size + REMEMBERED * _ID_BYTES)
        self._lock = threading.Lock()
        _HEADER.pack_into(self._memory, 0, 0, 0, time.monotonic())

    @property
    def finished(self) -> int:
        """Captures delivered since the daemon started."""
        return self._header()[1]

    @property
    def uptime_s(self) -> float:
        """Seconds since the daemon started."""
        return time.monotonic() - self._header()[2]

    def __contains__(self, visit_id: bytes) -> bool:
        end = _HEADER.size + min(self._header()[0], REMEMBERED) * _ID_BYTES
        at = self._memory.find(visit_id, _HEADER.size, end)
        while at >= 0 and (at - _HEADER.size) % _ID_BYTES:
            at = self._memory.find(visit_id, at + 1, end)
        return at >= 0

    def remember(self, visit_id: bytes) -> None:
        """Note 16 bytes; the oldest are forgotten for them."""
        with self._lock:
            served, finished, started = self._header()
            at = _HEADER.size + served % REMEMBERED * _ID_BYTES
            self._memory[at : at + _ID_BYTES] = visit_id
            _HEADER.pack_into(self._memory, 0, served + 1, finished, started)

    def finish(self) -> None:
        """Count a delivered capture."""
        with self._lock:
            served, finished, started = self._header()
            _HEADER.pack_into(self._memory, 0, served, finished + 1, started)

    def _header(self) -> tuple[int, int, float]:
        served, finished, started = _HEADER.unpack_from(self._memory, 0)
        return served, finished, started
