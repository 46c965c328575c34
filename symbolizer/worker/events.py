"""What a worker's process tells whoever watches it, in the order it happens.

A watcher is a plain function; it is called on the thread that works, and must return at once and raise nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task was carried out, or raised."""

    task: str
    """Its name, of `symbolizer.worker.broker`."""
    seconds: float
    failed: bool


@dataclass(frozen=True, slots=True)
class CapturesIngested:
    """A transaction ingested captures, or found each of them ingested or expired."""

    outcomes: tuple[str, ...]
    """Of each: ingested, already, expired."""
    reprocessed: int
    """Of them as another generation than the first."""
    samples: int
    facts: int
    seconds: float
    """From the lease to the commit: reading, naming and writing of all of them."""


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """A capture did not ingest."""

    error: Exception
    quarantined: bool
    """It is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class SymbolsBuilt:
    """A binary's debug file was looked at apart from any capture."""

    outcome: str
    """built, pending (another worker builds it) or failed."""


@dataclass(frozen=True, slots=True)
class FunctionsNamed:
    """Functions that had ingested without a name got one in place."""

    functions: int


Event = TaskEnded | CapturesIngested | CaptureFailed | SymbolsBuilt | FunctionsNamed
Watcher = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """A watcher that does not look."""


@contextmanager
def report_task(watcher: Watcher, task: str) -> Iterator[None]:
    """Tell of the task's end, however it ends."""
    begun, failed = monotonic(), True
    try:
        yield
        failed = False
    finally:
        watcher(TaskEnded(task, monotonic() - begun, failed))
