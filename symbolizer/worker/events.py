"""Events that a worker's process passes to its watcher, in the order they happen.

A watcher is a plain function. It is called on the working thread, and must return at once and raise nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task ended or raised."""

    task: str
    """Its name in `symbolizer.worker.broker`."""
    seconds: float
    failed: bool


@dataclass(frozen=True, slots=True)
class CapturesIngested:
    """A transaction ingested captures, or found each of them ingested or expired."""

    outcomes: tuple[str, ...]
    """Outcome of each capture: ingested, already, expired."""
    reprocessed: int
    """Number of captures whose generation is not the first."""
    samples: int
    facts: int
    seconds: float
    """From the lease to the commit: reading, naming and writing all of them."""


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """A capture was not ingested."""

    error: Exception
    quarantined: bool
    """Whether it is excluded from automatic retries."""


@dataclass(frozen=True, slots=True)
class SymbolsBuilt:
    """A build task for a binary's debug file ended."""

    outcome: str
    """built, pending (another worker builds it) or failed."""


@dataclass(frozen=True, slots=True)
class FunctionsNamed:
    """Functions that were ingested without a name were named in place."""

    functions: int


Event = TaskEnded | CapturesIngested | CaptureFailed | SymbolsBuilt | FunctionsNamed
Watcher = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """A watcher that ignores every event."""


@contextmanager
def report_task(watcher: Watcher, task: str) -> Iterator[None]:
    """Report the task's end, also if it raises."""
    begun, failed = monotonic(), True
    try:
        yield
        failed = False
    finally:
        watcher(TaskEnded(task, monotonic() - begun, failed))
