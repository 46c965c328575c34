"""Limits on open streams: for all callers, for one caller, and for streams that follow."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.data_api.errors import TooManyStreams
from storage.data.cancellation import Stop

STREAMS = 16
"""Open at the same time, by gRPC and HTTP together."""
STREAMS_OF_ONE = STREAMS // 4
"""Open at the same time for one caller."""
FOLLOWING = STREAMS - STREAMS // 4
"""Streams that follow, at the same time. Each stays open for hours, so the other slots are for streams that end."""
UNREAD_S = 600.0
"""A stream is cut if its caller reads no record for this time."""
OVERTIME_S = 60.0
"""A stream past its time limit is cut if its caller reads no record for this time."""


def nothing() -> None:
    """Cut nothing: there is no connection."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The caller whose stream takes a slot, and whether the stream follows."""

    caller: str = ""
    """Equal for all streams of a caller (`services.api.request_auth.caller_of`)."""
    follows: bool = False
    """The stream has no end of its own."""


UNNAMED = Holder()
"""One holder for all unidentified callers."""


@dataclass(slots=True)
class _Open:
    """A stream that holds a slot."""

    holder: Holder
    since: float
    cut: Callable[[], object]
    offered: float = float("inf")
    """Since when a record waits for the caller; infinity: none waits."""


class StreamSlots:
    """The stream slots of one process. Safe to share between threads."""

    def __init__(
        self,
        streams: int = STREAMS,
        *,
        of_one: int = STREAMS_OF_ONE,
        following: int = FOLLOWING,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Slots in all, for one caller, and for streams that follow; `clock` returns seconds."""
        self._most = streams
        self._of_one = of_one
        self._following = following
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[Stop, _Open] = {}

    @property
    def open(self) -> int:
        """Number of open streams."""
        return len(self._open)

    @contextmanager
    def acquired(
        self, stop: Stop, cut: Callable[[], object] = nothing, *, holder: Holder = UNNAMED
    ) -> Iterator[None]:
        """Hold a slot for `holder`. Raises `TooManyStreams`.

        `cut` breaks the caller's connection, from any thread: while a record waits for the caller, the stream's code
        does not run and cannot check `stop`.
        """
        with self._lock:
            self._check(holder)
            self._open[stop] = _Open(holder, self._clock(), cut)
        try:
            yield
        finally:
            with self._lock:
                del self._open[stop]

    def _check(self, holder: Holder) -> None:
        holders = [each.holder for each in self._open.values()]
        if sum(each.caller == holder.caller for each in holders) >= self._of_one:
            raise TooManyStreams(
                f"You have {self._of_one} open streams, the limit for one caller.",
                hint="End one of them, or retry when one has ended.",
            )
        if len(holders) >= self._most:
            raise TooManyStreams(f"{self._most} streams are open, which is the limit.")
        if holder.follows and sum(each.follows for each in holders) >= self._following:
            raise TooManyStreams(
                f"{self._following} streams that follow are open, which is the limit.",
                hint="Retry when one has ended, or read new visits periodically without follow.",
            )

    def offered(self, stop: Stop) -> None:
        """Record that one of the stream's records waits for the caller."""
        self._open[stop].offered = self._clock()

    def took(self, stop: Stop) -> None:
        """Record that the caller took it."""
        self._open[stop].offered = float("inf")

    def end_unread(self, *, unread_s: float = UNREAD_S) -> list[Stop]:
        """Cut the streams whose callers read nothing; returns them."""
        before = self._clock() - unread_s
        with self._lock:
            unread = {stop: each.cut for stop, each in self._open.items() if each.offered < before}
        for stop, cut in unread.items():
            cut()
            stop.set()
        return list(unread)

    def end_old(self, longest_s: float, *, overtime_s: float = OVERTIME_S) -> list[Stop]:
        """End streams older than `longest_s`; returns those newly ended.

        A stream is cut only if a record has waited for its caller for `overtime_s`.
        """
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
        """End every stream, because the process stops."""
        with self._lock:
            streams = list(self._open)
        for stop in streams:
            stop.set()
