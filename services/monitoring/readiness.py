"""Readiness of a process: named checks, each with a sentence when it fails.

Alive is not ready: a collector without its database is alive, and a restart would not help.

The sentences name hosts, users and folders, so they are only for the log and for callers on this machine.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

CACHE_TTL_S = 1.0
"""Seconds. A client that probes continuously must not cause a database connection each time."""

_log = logging.getLogger(__name__)

Check = Callable[[], str | None]
"""None on success, else a sentence about the problem. May block for some seconds; must not raise."""


@dataclass(slots=True)
class Readiness:
    """The checks of one process. Thread-safe: one thread checks while the others wait."""

    checks: Mapping[str, Check]
    clock: Callable[[], float] = monotonic
    _lock: Lock = field(default_factory=Lock, init=False)
    _checked_at: float = field(default=float("-inf"), init=False)
    _failing: dict[str, str] = field(default_factory=dict, init=False)

    def failing(self) -> Mapping[str, str]:
        """Problems by the check's name; empty if ready. At most `CACHE_TTL_S` old."""
        with self._lock:
            if self.clock() - self._checked_at >= CACHE_TTL_S:
                answers = {name: check() for name, check in self.checks.items()}
                failing = {name: why for name, why in answers.items() if why is not None}
                _log_changes(self._failing, failing)
                self._failing = failing
                self._checked_at = self.clock()
            return dict(self._failing)


def _log_changes(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Log only changes, because probes come every few seconds."""
    for name, why in now.items():
        if before.get(name) != why:
            _log.warning("not ready: %s: %s", name, why)
    for name in before.keys() - now.keys():
        _log.info("ready again: %s", name)
