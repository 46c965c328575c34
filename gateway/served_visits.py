"""Visits that this gateway has served: survives restarts of the server process.

The waiting process and the servers that it forks share the memory, so that a repeated visit id is refused even if
another server took the first; with a file, even if another daemon did.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import TYPE_CHECKING, Final

from gateway.shared_memory import shared_memory

if TYPE_CHECKING:
    from pathlib import Path

MAX_VISITS: Final = 4096
_ID_BYTES: Final = 16
# served, finished, active, start of the daemon by CLOCK_MONOTONIC, other work in progress: _SENDING | _CALIBRATING
_HEADER: Final = struct.Struct("<QQQdQ")
_SENDING: Final = 1
_CALIBRATING: Final = 2


class ServedVisits:
    """The newest `MAX_VISITS` visit ids, and the numbers of active and finished captures.

    One process writes at a time, the server; the waiting one reads.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._memory = shared_memory(_HEADER.size + MAX_VISITS * _ID_BYTES, file)
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
        """Captures in progress."""
        return self._header()[2]

    @property
    def is_working(self) -> bool:
        """Whether a capture, export or calibration is in progress: the server must not end then, even if silent."""
        _, _, active, _, other = _HEADER.unpack_from(self._memory, 0)
        return bool(active or other)

    @property
    def is_sending(self) -> bool:
        """Whether symbols are being sent."""
        return bool(_HEADER.unpack_from(self._memory, 0)[-1] & _SENDING)

    @property
    def is_calibrating(self) -> bool:
        """Whether CPUs are loaded for a calibration."""
        return bool(_HEADER.unpack_from(self._memory, 0)[-1] & _CALIBRATING)

    def __contains__(self, visit_id: bytes) -> bool:
        end = _HEADER.size + min(self._header()[0], MAX_VISITS) * _ID_BYTES
        at = self._memory.find(visit_id, _HEADER.size, end)
        while at >= 0 and (at - _HEADER.size) % _ID_BYTES:
            at = self._memory.find(visit_id, at + 1, end)
        return at >= 0

    def remember(self, visit_id: bytes) -> None:
        """Store a visit id of 16 bytes, in place of the oldest."""
        with self._lock:
            served, finished, active, started = self._header()
            at = _HEADER.size + served % MAX_VISITS * _ID_BYTES
            self._memory[at : at + _ID_BYTES] = visit_id
            self._write(served + 1, finished, active, started)

    def finish(self) -> None:
        """Count a delivered capture."""
        with self._lock:
            served, finished, active, started = self._header()
            self._write(served, finished + 1, active, started)

    def note_active(self, captures: int) -> None:
        """Set the number of captures in progress; a starting server sets 0, whatever the previous one left."""
        with self._lock:
            served, finished, _, started = self._header()
            self._write(served, finished, captures, started)

    def note_sending(self, *, sending: bool) -> None:
        """Set whether symbols are being sent; a starting server clears it."""
        self._note(_SENDING, present=sending)

    def note_calibrating(self, *, calibrating: bool) -> None:
        """Set whether CPUs are being measured; a starting server clears it."""
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
