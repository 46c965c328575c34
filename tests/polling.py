"""PendingCaptures for what another process does, without guessing how long that takes."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str = "it happens", *, seconds: float = 90.0) -> None:
    """Ask again and again; only a test that fails waits for the whole time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"gave up waiting until {what}"
        time.sleep(0.05)
