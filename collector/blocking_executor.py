"""Threads for the event loop's blocking work: the database, and the archive's disk.

Work that fails because the database is unavailable is repeated until it succeeds, so a restart of
PostgreSQL is a pause, not an error. The caller waits meanwhile, so no work accumulates.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from collector.outage import Outage
from storage.errors import DatabaseBusy, DatabaseFull, DatabaseUnavailable

THREADS = 4
TRANSIENT_ERRORS = (DatabaseUnavailable, DatabaseBusy, DatabaseFull)
"""Database errors that end with time or an operator's help; the same work may succeed later."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class BlockingExecutor:
    """Runs blocking work on a few threads of its own, one transaction a call."""

    def __init__(self, stop: asyncio.Event, *, failed: Callable[[], None] = lambda: None) -> None:
        """After `stop` is set, no call waits for the database; `failed` is called when it is unavailable."""
        self._stop = stop
        self._failed = failed
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="collector-executor")
        self._outage = Outage("the database")

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The result of `work(*args, **kwargs)`, which must be safe to repeat after a failure.

        Raises what `work` raises, but waits while the database is unavailable, busy or full, unless `stop` is set.
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
        """Wait for running work and accept no more."""
        self._threads.shutdown(wait=True, cancel_futures=True)


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Return after `seconds`, or at once when `stop` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
