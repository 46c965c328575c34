"""Waits for an unavailable server, and logs each outage once."""

import random
import time
from collections.abc import Callable

import structlog

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 15.0


class Outage:
    """One server that may be unavailable: the time to wait, and one line of log at each end of an outage.

    Safe to use from several threads and tasks: at worst a line is logged twice.
    """

    def __init__(self, what: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`what` is the server's name in the log, e.g. "the database"."""
        self._what = what
        self._clock = clock
        self._log = structlog.get_logger("collector")
        self._since: float | None = None
        self._failures = 0

    @property
    def is_ongoing(self) -> bool:
        """Whether the last use failed."""
        return self._since is not None

    def failed(self, error: Exception) -> float:
        """Record a failed use; seconds to wait before the next, longer each time, with some randomness.

        Without it, collectors that lost their database at the same moment would all reconnect at the same moment.
        """
        if self._since is None:
            self._since = self._clock()
            self._log.warning(f"{self._what} is unavailable, waiting for it", why=str(error))
        self._failures += 1
        wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10))
        return wait * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, no secret

    def over(self) -> None:
        """Record a successful use."""
        if self._since is None:
            return
        away_s = self._clock() - self._since
        self._since, self._failures = None, 0
        self._log.warning(f"{self._what} is available again", away_s=round(away_s, 1))
