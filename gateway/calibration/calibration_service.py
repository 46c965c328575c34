"""Serves calibration requests: permissions, one at a time, on idle CPUs (gateway.proto)."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import gateway_pb2
from gateway.calibration import refusals
from gateway.capture.capture_runner import CaptureCancelled
from gateway.machine.cpu_usage import read as read_usage
from gateway.machine.topology import read_topology
from gateway.serving.watchdog import watchdog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import Event as Signal

    from gateway.machine.topology import Topology
    from gateway.served_visits import ServedVisits
    from gateway.settings import CalibrationSettings

_Request = gateway_pb2.CalibrateRequest
_Reply = gateway_pb2.CalibrateReply
_WORKS: Final = frozenset(_Request.Work.values())
_USUAL_S: Final = 5.0
_USUAL_REPETITIONS: Final = 5
_MOST_REPETITIONS: Final = 50
SLICE_S: Final = 0.1
"""Shortest measurement: the kernel reports CPU time in hundredths of a second."""
_WATCHED_S: Final = 0.3
"""How long the CPUs' usage is observed before a measurement."""
_VIRTUAL: Final = (
    "this is a virtual machine ({}): its threads of a core may not share a physical core, and "
    "neighbours on the same hardware are invisible"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The measurement as it will be done."""

    slice_s: float
    repetitions: int
    changes: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Duration of all measurements; each repetition has two slices."""
        return self.slice_s * self.repetitions * 2


def plan(request: _Request, limits: CalibrationSettings) -> Plan:
    """Fit the request into the gateway's limits; raises CalibrationRefused INVALID."""
    if request.what not in {_Request.SMT, _Request.MEMORY}:
        raise refusals.invalid("what must be SMT or MEMORY")
    if request.work not in _WORKS:
        raise refusals.invalid("work must be INTEGER, FLOAT or MEMORY_LOADS")
    changes = []
    seconds = request.duration_ms / 1000 if request.duration_ms else min(_USUAL_S, limits.max_seconds)
    if seconds > limits.max_seconds:
        changes.append(
            f"shortened from {seconds:g} s to {limits.max_seconds:g} s, the limit of this gateway "
            "(--calibration-seconds)"
        )
        seconds = limits.max_seconds
    if seconds < 2 * SLICE_S:
        raise refusals.invalid(f"duration_ms must be at least {2 * SLICE_S * 1000:g}")
    most = min(_MOST_REPETITIONS, int(seconds / (2 * SLICE_S)))
    repetitions = request.repetitions or min(_USUAL_REPETITIONS, most)
    if repetitions > most:
        changes.append(
            f"{repetitions} repetitions were reduced to {most}: each takes at least {2 * SLICE_S:g} "
            f"s, and the limit is {_MOST_REPETITIONS}"
        )
        repetitions = most
    return Plan(seconds / repetitions / 2, repetitions, tuple(changes))


class CalibrationService:
    """Serves one machine."""

    def __init__(
        self,
        limits: CalibrationSettings,
        served_visits: ServedVisits,
        platform: str,
        virtualization: str,
        topology: Callable[[], Topology] = lambda: read_topology(read_usage().cpus),
    ) -> None:
        self._limits = limits
        self._served_visits = served_visits
        self._platform = platform
        self._doubts = () if virtualization in {"", "none"} else (_VIRTUAL.format(virtualization),)
        self._topology = topology
        self._place = threading.Lock()
        served_visits.note_calibrating(calibrating=False)

    def answer(self, request: _Request, stopped: Signal) -> Iterator[_Reply]:
        """The reply stream, except refusals. Raises CalibrationRefused, CaptureCancelled, OSError."""
        if not self._limits.allowed:
            raise refusals.not_allowed(
                "this gateway does not calibrate; the operator can enable it with --allow-calibration"
            )
        planned = plan(request, self._limits)
        with self._alone():
            before = read_usage()
            if stopped.wait(_WATCHED_S):
                raise CaptureCancelled
            after = read_usage()
            utilisation = after.utilisation_since(before)
            if utilisation > self._limits.quiet:
                raise refusals.busy(
                    f"the machine was busy for {utilisation:.0%} of the time; up to {self._limits.quiet:.0%} is allowed "
                    "(--calibration-busy-percent). Retry when it is idle"
                )
            # Imported here: few gateways get such a request, and all start a server process after each idle time.
            from gateway.calibration.cpu_selection import busy_shares, usable_cpus  # noqa: PLC0415
            from gateway.calibration.measurements import (  # noqa: PLC0415
                Conditions,
                MeasurementStopped,
                measure_memory,
                measure_smt,
            )

            topology = self._topology()
            conditions = Conditions(
                topology=topology,
                usable=usable_cpus(topology),
                busy=busy_shares(before, after),
                utilisation=utilisation,
                limits=self._limits,
                slice_s=planned.slice_s,
                repetitions=planned.repetitions,
                doubts=self._doubts,
                halted=lambda: stopped.is_set() or bool(self._served_visits.active),
            )

            def begin(cpus: Iterable[int]) -> _Reply:
                return _Reply(
                    begin=gateway_pb2.CalibrateBegin(
                        platform=self._platform,
                        cpus=cpus,
                        duration_ms=round(planned.seconds * 1000),
                        repetitions=planned.repetitions,
                        changes=planned.changes,
                    )
                )

            if request.what == _Request.SMT:
                measured = measure_smt(conditions, request.work, begin)
            else:
                measured = measure_memory(conditions, begin)
            try:
                with watchdog(planned.seconds, "calibration"):
                    yield from measured
            except MeasurementStopped:
                if stopped.is_set():
                    raise CaptureCancelled from None
                raise refusals.busy("interrupted by a capture, which has precedence; retry later") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._served_visits.active:
            raise refusals.busy("a capture is in progress; retry later")
        if self._served_visits.is_sending:
            raise refusals.busy("a symbol request is in progress; retry later")
        if not self._place.acquire(blocking=False):
            raise refusals.busy("another calibration is in progress; retry later")
        self._served_visits.note_calibrating(calibrating=True)
        try:
            yield
        finally:
            self._served_visits.note_calibrating(calibrating=False)
            self._place.release()
