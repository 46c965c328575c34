"""Admission of captures: time to live, repeated visits, concurrent captures."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleetpb import gateway_pb2
from gateway.errors import PlanRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.served_visits import ServedVisits
    from gateway.settings import Limits


class Admission:
    """Limits the concurrent captures of this process."""

    def __init__(
        self, served_visits: ServedVisits, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._served_visits = served_visits
        self._limits = limits
        self._clock = clock
        self._lock = threading.Lock()
        self._active = 0
        served_visits.note_active(0)

    @property
    def active(self) -> int:
        """Captures in progress."""
        return self._active

    @contextmanager
    def admit(self, plan: gateway_pb2.Plan, *, arrived: float) -> Iterator[None]:
        """Hold a slot for one capture; raises PlanRefused EXPIRED, REPEATED or TOO_MANY.

        `arrived` is a reading of the same clock. The visit id is stored only when the plan is admitted: a plan
        refused with TOO_MANY can be sent again.
        """
        ttl_ms = plan.ttl_ms or self._limits.ttl_ms
        waited_ms = (self._clock() - arrived) * 1000
        if waited_ms > ttl_ms:
            raise PlanRefused(
                gateway_pb2.Refusal.EXPIRED,
                f"the plan expired: it waited {waited_ms:.0f} ms, and its limit is {ttl_ms} ms",
            )
        with self._lock:
            if plan.visit_id in self._served_visits:
                raise PlanRefused(
                    gateway_pb2.Refusal.REPEATED, "this visit id was used before; use a new one"
                )
            if self._active >= self._limits.max_concurrent:
                raise PlanRefused(
                    gateway_pb2.Refusal.TOO_MANY,
                    f"{self._active} captures are in progress, the maximum (--max-concurrent); retry later",
                )
            self._served_visits.remember(plan.visit_id)
            self._active += 1
            self._served_visits.note_active(self._active)
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                self._served_visits.note_active(self._active)
