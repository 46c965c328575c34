"""Answers that are sent part by part: how many at once, and the end of each.

The data that an answer is made from stays in memory until a client has received all of it, however slow that is.
"""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Generic, TypeVar

UNREAD_S = 60.0
"""An answer is cut if its client accepts no part for this time."""
_Part = TypeVar("_Part")


def _nothing() -> None:
    """Cut nothing: there is no connection."""


class SendSlots:
    """Limits the answers that are sent at once. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take a slot; False: none is free."""
        with self._lock:
            if self._left == 0:
                return False
            self._left -= 1
            return True

    def release(self) -> None:
        """Free a slot."""
        with self._lock:
            self._left += 1


class StreamedBody(AsyncIterator[_Part], Generic[_Part]):
    """The parts; calls `done` once when they end, reading them fails, or the iterator is discarded.

    A client may disconnect before the first part is read, and a generator's `finally` would not run then. If a
    connected client accepts no part for `unread_s`, `cut` ends its connection: it would hold its slot for ever.
    """

    def __init__(
        self,
        parts: AsyncIterable[_Part],
        done: Callable[[], None],
        *,
        cut: Callable[[], None] = _nothing,
        unread_s: float = UNREAD_S,
    ) -> None:
        self._parts = aiter(parts)
        self._done = weakref.finalize(self, done)
        self._cut = cut
        self._unread_s = unread_s
        self._waiting: asyncio.TimerHandle | None = None

    async def __anext__(self) -> _Part:
        # The sender requests the next part when the previous one is accepted.
        if self._waiting is not None:
            self._waiting.cancel()
        try:
            part = await anext(self._parts)
        except BaseException:
            self._done()
            raise
        self._waiting = asyncio.get_running_loop().call_later(self._unread_s, self._cut)
        return part
