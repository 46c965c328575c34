"""How many streams there may be, and how many of them may ask the database at once."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from services.data_api.errors import TooManyStreams
from storage.data.stopping import Stop

STREAMS = 16
"""Open at the same time, however they came; each that follows stays open."""
UNREAD_S = 600.0
"""A stream whose caller takes nothing for so long is ended: its place is for others."""


class Places:
    """The places for streams of one process. Safe to share between threads."""

    def __init__(self, streams: int = STREAMS) -> None:
        self._most = streams
        self._lock = threading.Lock()
        self._offered: dict[Stop, float] = {}
        """Streams, and since when each waits for its caller; infinity: it does not."""

    @property
    def open(self) -> int:
        """Streams that are open."""
        return len(self._offered)

    @contextmanager
    def taken(self, stop: Stop) -> Iterator[None]:
        """Hold a place. Raises `TooManyStreams`."""
        with self._lock:
            if len(self._offered) >= self._most:
                raise TooManyStreams(f"{self._most} streams are open, as many as there may be.")
            self._offered[stop] = float("inf")
        try:
            yield
        finally:
            with self._lock:
                del self._offered[stop]

    def offered(self, stop: Stop) -> None:
        """A record of the stream is there for its caller to take."""
        self._offered[stop] = time.monotonic()

    def took(self, stop: Stop) -> None:
        """The caller took it."""
        self._offered[stop] = float("inf")

    def end_unread(self, *, unread_s: float = UNREAD_S) -> list[Stop]:
        """End the streams nobody reads; those that were ended."""
        before = time.monotonic() - unread_s
        with self._lock:
            unread = [stop for stop, since in self._offered.items() if since < before]
        for stop in unread:
            stop.set()
        return unread

    def end_all(self) -> None:
        """End every stream: the process is to end."""
        with self._lock:
            streams = list(self._offered)
        for stop in streams:
            stop.set()
