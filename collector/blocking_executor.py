"""Where the event loop hands over work that blocks: the database, and the archive's disk.

Work that fails because the database is away is done again until it is back, so that a restart of
PostgreSQL is a pause, not an error; whoever waits holds its place, so nothing piles up.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from collector.outage import Outage
from storage.errors import DatabaseBusy, DatabaseFull, DatabaseUnavailable

THREADS = 4
TRANSIENT_ERRORS = (DatabaseUnavailable, DatabaseBusy, DatabaseFull)
"""Errors of the database that time or an operator mends; the same work may succeed later."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class BlockingExecutor:
    """Runs blocking work on a few threads of its own, one transaction a call."""

    def __init__(self, stop: asyncio.Event, *, failed: Callable[[], None] = lambda: None) -> None:
        """Once `stop` is set nothing waits for a database any more; `failed` is called when that is away."""
        self._stop = stop
        self._failed = failed
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="collector-executor")
        self._outage = Outage("the database")

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The result of `work(*args, **kwargs)`, which must be safe to do again after it failed.

        Raises whatever it raises, but waits for a database that is away, busy or full, unless the
        collector is to stop.
        """
        loop = asyncio.get_running_loop()
        while True:
            try:
                result = await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))
            except TRANSIENT_ERRORS as error:
                wait_s = self._outage.failed(error)
                self._failed()
                if self._stop.is_set():
                    raise
                await pause(self._stop, wait_s)
            else:
                self._outage.over()
                return result

    def close(self) -> None:
        """Wait for the work that is being done; take no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Return after `seconds`, or at once when `stop` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
