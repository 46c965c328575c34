"""Visits this gateway has served: kept while its server process comes and goes.

The memory is shared by the waiting process and the servers it forks, so that a visit id is refused the second
time even if another server took the first; with a file, even if another daemon did.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import TYPE_CHECKING, Final

from gateway.shared_memory import shared_memory

if TYPE_CHECKING:
    from pathlib import Path

REMEMBERED: Final = 4096
_ID_BYTES: Final = 16
# served, finished, being taken, start of the daemon by CLOCK_MONOTONIC, other work under way: _SENDING | _CALIBRATING
_HEADER: Final = struct.Struct("<QQQdQ")
_SENDING: Final = 1
_CALIBRATING: Final = 2


class ServedVisits:
    """Remembered visit ids, the newest `REMEMBERED` of them, and how many captures are taken and were finished.

    One process writes at a time, the server; the waiting one reads.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._memory = shared_memory(_HEADER.size + REMEMBERED * _ID_BYTES, file)
        self._lock = threading.Lock()
        served = self._header()[0]
        _HEADER.pack_into(self._memory, 0, served, 0, 0, time.monotonic(), 0)

    @property
    def finished(self) -> int:
        """Captures delivered since the daemon started."""
        return self._header()[1]

    @property
    def uptime_s(self) -> float:
        """Seconds since the daemon started."""
        return time.monotonic() - self._header()[3]

    @property
    def active(self) -> int:
        """Captures being taken."""
        return self._header()[2]

    @property
    def is_working(self) -> bool:
        """Something is being taken, sent or measured: the server must not end, however silent it is."""
        _, _, active, _, other = _HEADER.unpack_from(self._memory, 0)
        return bool(active or other)

    @property
    def is_sending(self) -> bool:
        """Symbols are being sent."""
        return bool(_HEADER.unpack_from(self._memory, 0)[-1] & _SENDING)

    @property
    def is_calibrating(self) -> bool:
        """CPUs are kept busy to measure them."""
        return bool(_HEADER.unpack_from(self._memory, 0)[-1] & _CALIBRATING)

    def __contains__(self, visit_id: bytes) -> bool:
        end = _HEADER.size + min(self._header()[0], REMEMBERED) * _ID_BYTES
        at = self._memory.find(visit_id, _HEADER.size, end)
        while at >= 0 and (at - _HEADER.size) % _ID_BYTES:
            at = self._memory.find(visit_id, at + 1, end)
        return at >= 0

    def remember(self, visit_id: bytes) -> None:
        """Note 16 bytes; the oldest are forgotten for them."""
        with self._lock:
            served, finished, active, started = self._header()
            at = _HEADER.size + served % REMEMBERED * _ID_BYTES
            self._memory[at : at + _ID_BYTES] = visit_id
            self._write(served + 1, finished, active, started)

    def finish(self) -> None:
        """Count a delivered capture."""
        with self._lock:
            served, finished, active, started = self._header()
            self._write(served, finished + 1, active, started)

    def note_active(self, captures: int) -> None:
        """So many captures are being taken now; 0 when a server begins, whatever the last one left."""
        with self._lock:
            served, finished, _, started = self._header()
            self._write(served, finished, captures, started)

    def note_sending(self, *, sending: bool) -> None:
        """Symbols are being sent, or no more; no more when a server begins, whatever the last one left."""
        self._note(_SENDING, present=sending)

    def note_calibrating(self, *, calibrating: bool) -> None:
        """CPUs are being measured, or no more; no more when a server begins, whatever the last one left."""
        self._note(_CALIBRATING, present=calibrating)

    def _note(self, flag: int, *, present: bool) -> None:
        with self._lock:
            *rest, other = _HEADER.unpack_from(self._memory, 0)
            _HEADER.pack_into(self._memory, 0, *rest, other | flag if present else other & ~flag)

    def _header(self) -> tuple[int, int, int, float]:
        served, finished, active, started, _ = _HEADER.unpack_from(self._memory, 0)
        return served, finished, active, started

    def _write(self, served: int, finished: int, active: int, started: float) -> None:
        other = _HEADER.unpack_from(self._memory, 0)[-1]
        _HEADER.pack_into(self._memory, 0, served, finished, active, started, other)
