"""Memory that answers leave free in this process, returned to the system soon after them.

An answer is made of arrays that live for a second and are several times what is kept between answers.
The C library keeps them for the next one: an API that was asked a large question once, or a growing one
every few seconds, stayed as large as the largest had made it (measured: 120 MiB above the 90 it needs,
after five minutes of visits of 1000 machines were asked for).
"""

from collections.abc import Callable

import anyio
from anyio import to_thread

from services.process_setup import malloc

PAUSE_S = 2.0
"""Between two times; giving back costs some milliseconds, and the next answer as many to take it again."""


class MallocTrimmer:
    """Calls `trim_malloc` once answers were made. For one event loop."""

    def __init__(
        self, *, trim_malloc: Callable[[], None] = malloc.trim_malloc, pause_s: float = PAUSE_S
    ) -> None:
        self._trim_malloc = trim_malloc
        self._pause_s = pause_s
        self._made = anyio.Event()

    def note(self) -> None:
        """An answer was made."""
        self._made.set()

    async def trim_periodically(self) -> None:
        """After the first answer noted since the last time, at most once in `pause_s`; until cancelled."""
        while True:
            await self._made.wait()
            # One that is noted while this runs has arrays that it may not have found free: again, then.
            self._made = anyio.Event()
            await to_thread.run_sync(self._trim_malloc)
            await anyio.sleep(self._pause_s)
