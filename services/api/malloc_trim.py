"""Returns freed memory to the system soon after answers.

An answer consists of arrays that live for a second and are several times the size of the data kept between answers. The
C library keeps freed memory for the next answer: without trimming, the API stayed as large as its largest query had
made it (measured: 120 MiB above the 90 it needs, after five minutes of queries for visits of 1000 machines).
"""

from collections.abc import Callable

import anyio
from anyio import to_thread

from services.process_setup import malloc

PAUSE_S = 2.0
"""Between two trims. A trim costs some milliseconds, and the next answer as many to allocate the memory again."""


class MallocTrimmer:
    """Calls `trim_malloc` after answers. For one event loop."""

    def __init__(
        self, *, trim_malloc: Callable[[], None] = malloc.trim_malloc, pause_s: float = PAUSE_S
    ) -> None:
        self._trim_malloc = trim_malloc
        self._pause_s = pause_s
        self._made = anyio.Event()

    def note(self) -> None:
        """Record that an answer was made."""
        self._made.set()

    async def trim_periodically(self) -> None:
        """Trim after the first answer noted since the last trim, at most once in `pause_s`; runs until cancelled."""
        while True:
            await self._made.wait()
            # The trim may have missed the arrays of an answer noted while it runs: that answer causes another trim.
            self._made = anyio.Event()
            await to_thread.run_sync(self._trim_malloc)
            await anyio.sleep(self._pause_s)
