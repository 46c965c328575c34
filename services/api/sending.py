"""Answers that are sent part by part: how many at once, and what happens when one is sent.

What an answer is written from stays in memory until its reader has it all, however slow that is.
"""

import threading
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Generic, TypeVar

_Part = TypeVar("_Part")


class Places:
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

    def give_back(self) -> None:
        """Give back a place that was taken."""
        with self._lock:
            self._left += 1


class Sent(AsyncIterator[_Part], Generic[_Part]):
    """The parts, and `done` called once when there are no more, reading them fails, or nobody wants them any more.

    A reader may have gone before the first part is asked for; of a generator nothing would run then.
    """

    def __init__(self, parts: AsyncIterable[_Part], done: Callable[[], None]) -> None:
        self._parts = aiter(parts)
        self._done = weakref.finalize(self, done)

    async def __anext__(self) -> _Part:
        try:
            return await anext(self._parts)
        except BaseException:
            self._done()
            raise
