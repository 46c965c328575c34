"""Ends an idle process of a pool to free its caches; the pool forks another.

After ingestion a process holds 120 MB of its own: ids of stacks and names, symbol tables, the allocator's free lists.
malloc_trim(3) returns little of it, because live objects are spread over all of it. A freshly forked process has
13 MB of its own.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from billiard.pool import EX_RECYCLE
from celery.signals import task_postrun, task_prerun

IDLE_S: Final = 60.0
"""One machine's captures come every ten seconds, so a process that ingests them stays."""


class IdleExit:
    """Tracks the tasks of this process; create it after the fork."""

    def __init__(self, seconds: float = IDLE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._since: float | None = None
        """When the last task ended; None: one is running, or none has run."""
        task_prerun.connect(self._begins, weak=False)
        task_postrun.connect(self._ended, weak=False)

    @property
    def over(self) -> bool:
        """Whether a task has run, and none since for the limit."""
        since = self._since
        return since is not None and self._clock() - since >= self._seconds

    def end_when_idle(self) -> None:
        """Start a thread that ends this process once `over` is true.

        A message received at that very moment is put back by the pool, as with a killed process.
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
