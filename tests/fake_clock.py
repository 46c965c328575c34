"""A clock that advances only when a test sets it."""

from dataclasses import dataclass


@dataclass
class FakeClock:
    """Stands in for time.monotonic; `now` in seconds."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now
