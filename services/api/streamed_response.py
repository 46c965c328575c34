"""Answers that are sent part by part: how many at once, and what happens when one is sent.

What an answer is written from stays in memory until its reader has it all, however slow that is.
"""

import asyncio
import threading
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Generic, TypeVar

UNREAD_S = 60.0
"""An answer of which nobody takes a part for so long is cut."""
_Part = TypeVar("_Part")


def _nothing() -> None:
    """Cut nothing: there is no connection."""


class SendSlots:
    """So many may be sent at once. Safe to share between threads."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take a place; False: there is none."""
        with self._lock:
            if self._left == 0:
                return False
            self._left -= 1
            return True

    def release(self) -> None:
        """Give back a place that was taken."""
        with self._lock:
            self._left += 1


class StreamedBody(AsyncIterator[_Part], Generic[_Part]):
    """The parts, and `done` called once when there are no more, reading them fails, or nobody wants them any more.

    A reader may have gone before the first part is asked for; of a generator nothing would run then. One that stays
    and takes nothing for `unread_s` has its connection cut, by `cut`: it would keep its place for ever.
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
        # Whoever sends asks for the next part when the one before is taken.
        if self._waiting is not None:
            self._waiting.cancel()
        try:
            part = await anext(self._parts)
        except BaseException:
            self._done()
            raise
        self._waiting = asyncio.get_running_loop().call_later(self._unread_s, self._cut)
        return part
