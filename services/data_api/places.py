"""How many streams there may be, and how many of them may ask the database at once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.data_api.errors import TooManyStreams
from storage.data.stopping import Stop

STREAMS = 16
"""Open at the same time, however they came; each that follows stays open."""
UNREAD_S = 600.0
"""A stream whose caller takes nothing for so long is cut: its place is for others."""
OVERTIME_S = 60.0
"""One that should have ended is cut when its caller takes nothing for so long."""


def nothing() -> None:
    """Cut nothing: there is no connection."""


@dataclass(slots=True)
class _Open:
    """A stream that holds a place."""

    since: float
    cut: Callable[[], object]
    offered: float = float("inf")
    """Since when it waits for its caller; infinity: it does not."""


class Places:
    """The places for streams of one process. Safe to share between threads."""

    def __init__(self, streams: int = STREAMS, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` tells seconds."""
        self._most = streams
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[Stop, _Open] = {}

    @property
    def open(self) -> int:
        """Streams that are open."""
        return len(self._open)

    @contextmanager
    def taken(self, stop: Stop, cut: Callable[[], object] = nothing) -> Iterator[None]:
        """Hold a place. Raises `TooManyStreams`.

        `cut` breaks the caller's connection, from any thread: while a record waits to be taken nothing of
        the stream runs that could see `stop`.
        """
        with self._lock:
            if len(self._open) >= self._most:
                raise TooManyStreams(f"{self._most} streams are open, as many as there may be.")
            self._open[stop] = _Open(self._clock(), cut)
        try:
            yield
        finally:
            with self._lock:
                del self._open[stop]

    def offered(self, stop: Stop) -> None:
        """A record of the stream is there for its caller to take."""
        self._open[stop].offered = self._clock()

    def took(self, stop: Stop) -> None:
        """The caller took it."""
        self._open[stop].offered = float("inf")

    def end_unread(self, *, unread_s: float = UNREAD_S) -> list[Stop]:
        """Cut the streams nobody reads; those that were cut."""
        before = self._clock() - unread_s
        with self._lock:
            unread = {stop: each.cut for stop, each in self._open.items() if each.offered < before}
        for stop, cut in unread.items():
            cut()
            stop.set()
        return list(unread)

    def end_old(self, longest_s: float, *, overtime_s: float = OVERTIME_S) -> list[Stop]:
        """End the streams that are open for longer; those that were ended. What waits to be taken is waited for."""
        now = self._clock()
        with self._lock:
            old = [stop for stop, each in self._open.items() if each.since < now - longest_s]
            late = [self._open[stop].cut for stop in old if self._open[stop].offered < now - overtime_s]
        for cut in late:
            cut()
        ended = [stop for stop in old if not stop.is_set]
        for stop in ended:
            stop.set()
        return ended

    def end_all(self) -> None:
        """End every stream: the process is to end."""
        with self._lock:
            streams = list(self._open)
        for stop in streams:
            stop.set()
