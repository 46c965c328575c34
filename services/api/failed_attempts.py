"""Limit on wrong tokens per address at the sign-in form."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final

MOST: Final = 10
"""Wrong tokens of one address within `WINDOW_S`; further attempts are refused unread."""
WINDOW_S: Final = 60.0
_MOST_ADDRESSES: Final = 10_000
"""Addresses that are remembered; beyond, the one whose last wrong token is oldest is forgotten."""


class FailedAttempts:
    """Times of wrong tokens by address. Safe to share between threads; each API process counts for itself.

    Only wrong tokens count, so readers behind one proxy do not exclude each other by signing in.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._times: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = Lock()

    def wait_s(self, address: str) -> float:
        """Seconds until the address may try again; 0: now."""
        with self._lock:
            recent = self._recent(address)
            return recent[-MOST] + WINDOW_S - self._clock() if len(recent) >= MOST else 0.0

    def note(self, address: str) -> None:
        """Count a wrong token of the address."""
        with self._lock:
            self._times[address] = [*self._recent(address), self._clock()]
            self._times.move_to_end(address)
            while len(self._times) > _MOST_ADDRESSES:
                self._times.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self._clock() - WINDOW_S
        return [at for at in self._times.get(address, ()) if at > since]
