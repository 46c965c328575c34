"""A pool's process that has had nothing to do gives up all that it remembers: it ends, and the pool forks another.

After ingestion, a process holds 120 MB of its own: ids of stacks and names, symbol tables, what the allocator keeps. malloc_trim(3) returns
little of it, because what lives is spread over all of it. A process that was just forked has 13 MB of its own.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from billiard.pool import EX_RECYCLE
from celery.signals import task_postrun, task_prerun

IDLE_S: Final = 60.0
"""Captures of one machine come every ten seconds, and a process that ingests them stays."""


class IdleExit:
    """Watches the tasks of this process; make it after the fork."""

    def __init__(self, seconds: float = IDLE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._since: float | None = None
        """When the last task ended; None: one runs, or none has run."""
        task_prerun.connect(self._begins, weak=False)
        task_postrun.connect(self._ended, weak=False)

    @property
    def over(self) -> bool:
        """It has worked, and has had no task for so long since."""
        since = self._since
        return since is not None and self._clock() - since >= self._seconds

    def end_when_idle(self) -> None:
        """End this process, from a thread, once it has worked and then had no task for so long.

        A message that it takes in the very moment is put back by the pool, as with a process that was killed.
        """
        threading.Thread(target=self._watch, name="idle", daemon=True).start()

    def _begins(self, **_: Any) -> None:
        self._since = None

    def _ended(self, **_: Any) -> None:
        self._since = self._clock()

    def _watch(self) -> None:
        while not self.over:
            time.sleep(self._seconds / 10)
        os._exit(EX_RECYCLE)
