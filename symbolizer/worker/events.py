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
class CapturesLanded:
    """A transaction landed captures, or found each of them landed or expired."""

    outcomes: tuple[str, ...]
    """Of each: landed, already, expired."""
    again: int
    """Of them as another generation than the first."""
    samples: int
    facts: int
    seconds: float
    """From the lease to the commit: reading, naming and writing of all of them."""


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """A capture did not land."""

    error: Exception
    set_aside: bool
    """It is not tried again by itself."""


@dataclass(frozen=True, slots=True)
class SymbolsBuilt:
    """A binary's debug file was looked at apart from any capture."""

    outcome: str
    """built, pending (another worker builds it) or failed."""


@dataclass(frozen=True, slots=True)
class FunctionsNamed:
    """Functions that had landed without a name got one in place."""

    functions: int


Event = TaskEnded | CapturesLanded | CaptureFailed | SymbolsBuilt | FunctionsNamed
Watcher = Callable[[Event], None]


def nobody(_event: Event) -> None:
    """A watcher that does not look."""


@contextmanager
def told(watcher: Watcher, task: str) -> Iterator[None]:
    """Tell of the task's end, however it ends."""
    begun, failed = monotonic(), True
    try:
        yield
        failed = False
    finally:
        watcher(TaskEnded(task, monotonic() - begun, failed))
