"""The gRPC service: plans in, captures out (gateway.proto)."""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from gateway.capture.capture_runner import PRODUCER, CaptureCancelled, CaptureRunner
from gateway.capture.limits import Schedule, schedule
from gateway.capture.packer import FORMAT, Packed
from gateway.capture.quota import Quota, resident_memory
from gateway.errors import CalibrationRefused, PlanRefused, SymbolsRefused
from gateway.perf.events import probe, support_of
from gateway.serving.admission import Admission
from gateway.serving.call_clock import call_started_at
from gateway.serving.log_rate_limit import LogRateLimit
from gateway.serving.watchdog import watchdog
from gateway.symbols.build_files import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import grpc

    from gateway.calibration.calibration_service import CalibrationService
    from gateway.capture.capture_resources import CaptureResources
    from gateway.served_visits import ServedVisits
    from gateway.symbols.symbol_service import SymbolService

_PIECE_BYTES: Final = 256 << 10
_LOGGED: Final = 500
"""Characters of a refusal's message in the log: it repeats client input."""
_WHATS: Final = frozenset(gateway_pb2.SymbolsRequest.What.values())

_log: Final = logging.getLogger("gateway.service")


class GatewayService(gateway_pb2_grpc.GatewayServicer):
    """Serves one machine. `stop` cancels captures in progress."""

    def __init__(
        self,
        resources: CaptureResources,
        served_visits: ServedVisits,
        symbol_service: SymbolService,
        calibration_service: CalibrationService,
        retire: Callable[[], None] = lambda: None,
    ) -> None:
        """`retire` is called when a fresh process should serve the next call."""
        self._resources = resources
        self._served_visits = served_visits
        self._symbol_service = symbol_service
        self._calibration_service = calibration_service
        self._admission = Admission(served_visits, resources.limits)
        self._quota = Quota(resources.limits)
        self._retire = retire
        self._log_limit = LogRateLimit()
        self._stopping = threading.Event()
        self._active: set[threading.Event] = set()
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Cancel captures and replies in progress; each caller gets a refusal with the reason."""
        self._stopping.set()
        with self._lock:
            for stopped in self._active:
                stopped.set()

    def Describe(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.DescribeRequest, context: grpc.ServicerContext
    ) -> capture_pb2.Machine:
        """Describe this machine."""
        del request, context
        return self._resources.refresh_machine()

    def Health(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.HealthRequest, context: grpc.ServicerContext
    ) -> gateway_pb2.HealthReply:
        """Health, and the work in progress."""
        del request, context
        return gateway_pb2.HealthReply(
            producer=PRODUCER,
            format=FORMAT,
            active_captures=self._admission.active,
            finished_captures=self._served_visits.finished,
            uptime_s=self._served_visits.uptime_s,
            utilisation=self._resources.utilisation(),
        )

    def Capture(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.Plan, context: grpc.ServicerContext
    ) -> Iterator[gateway_pb2.CaptureReply]:
        """Take one capture, or reply with one refusal."""
        arrived = call_started_at()
        visit = _visit_name(request.visit_id)
        try:
            with self._stoppable(context) as stopped:
                yield from self._capture(request, arrived, stopped, visit)
        except PlanRefused as refused:
            yield self._refusal(refused.reason, str(refused), visit)
        except CaptureCancelled:
            if self._stopping.is_set():
                yield self._refusal(
                    gateway_pb2.Refusal.FAILED, "the gateway was stopped during the capture", visit
                )
            else:
                _log.info("capture cancelled", extra={"fields": {"visit": visit}})
        except GeneratorExit:
            raise
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, whatever it is
            _log.exception("capture failed", extra={"fields": {"visit": visit}})
            yield self._refusal(
                gateway_pb2.Refusal.FAILED, f"sampling failed: {type(error).__name__}: {error}", visit
            )

    def Symbols(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.SymbolsRequest, context: grpc.ServicerContext
    ) -> Iterator[gateway_pb2.SymbolsReply]:
        """Send the symbols of one binary, or reply with one refusal."""
        what = gateway_pb2.SymbolsRequest.What.Name(request.what) if request.what in _WHATS else "?"
        fields = {"what": what.lower(), "key": key_of(request.build_id, request.content_key)[:100]}
        try:
            with self._stoppable(context) as stopped:
                yield from self._symbol_service.answer(request, stopped)
            _log.info("symbols sent", extra={"fields": fields})
        except SymbolsRefused as refused:
            yield self._symbols_refusal(refused.reason, str(refused), fields)
        except CaptureCancelled:
            if self._stopping.is_set():
                yield self._symbols_refusal(
                    gateway_pb2.SymbolsRefusal.FAILED, "the gateway was stopped", fields
                )
        except GeneratorExit:
            raise
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, whatever it is
            _log.exception("symbols failed", extra={"fields": fields})
            yield self._symbols_refusal(
                gateway_pb2.SymbolsRefusal.FAILED, f"reading failed: {type(error).__name__}: {error}", fields
            )
        finally:
            # A capture that ended meanwhile left retiring to this call.
            self._retire_if_large()

    def Calibrate(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.CalibrateRequest, context: grpc.ServicerContext
    ) -> Iterator[gateway_pb2.CalibrateReply]:
        """Load idle CPUs and send the measurements, or reply with one refusal."""
        refusals = gateway_pb2.CalibrateRefusal
        try:
            with self._stoppable(context) as stopped:
                yield from self._calibration_service.answer(request, stopped)
            _log.info("calibrated", extra={"fields": {"what": request.what}})
        except CalibrationRefused as refused:
            yield self._calibrate_refusal(refused.reason, str(refused))
        except CaptureCancelled:
            if self._stopping.is_set():
                yield self._calibrate_refusal(refusals.FAILED, "the gateway was stopped")
            else:
                _log.info("calibration cancelled")
        except GeneratorExit:
            raise
        except Exception as error:  # noqa: BLE001 - the caller must hear of it, whatever it is
            _log.exception("calibration failed")
            yield self._calibrate_refusal(
                refusals.FAILED, f"measuring failed: {type(error).__name__}: {error}"
            )
        finally:
            # A capture that ended meanwhile left retiring to this call.
            self._retire_if_large()

    @contextmanager
    def _stoppable(self, context: grpc.ServicerContext) -> Iterator[threading.Event]:
        """An event set when the caller disconnects or the gateway stops. Raises CaptureCancelled if it already has."""
        stopped = threading.Event()
        if not context.add_callback(stopped.set):
            raise CaptureCancelled
        with self._lock:
            self._active.add(stopped)
            if self._stopping.is_set():
                stopped.set()
        try:
            yield stopped
        finally:
            with self._lock:
                self._active.discard(stopped)

    def _capture(
        self, plan: gateway_pb2.Plan, arrived: float, stopped: threading.Event, visit: str
    ) -> Iterator[gateway_pb2.CaptureReply]:
        planned = schedule(plan, self._resources.limits, self._resources.capacity())
        self._require_one_event(planned)
        with self._admission.admit(plan, arrived=arrived):
            yield gateway_pb2.CaptureReply(
                begin=gateway_pb2.Begin(
                    utilisation=self._resources.utilisation(),
                    duration_ms=round(planned.seconds * 1000),
                    changes=planned.changes,
                )
            )
            runner = CaptureRunner(self._resources, planned, plan.visit_id)
            with watchdog(planned.seconds, visit):
                for done in runner.run(stopped):
                    yield gateway_pb2.CaptureReply(
                        progress=gateway_pb2.Progress(done=done.share, samples=done.samples)
                    )
                if not runner.sampled_events:
                    raise PlanRefused(
                        gateway_pb2.Refusal.UNSUPPORTED,
                        "none of the plan's events can be opened on this machine",
                    )
                packed = runner.pack()
            yield from _deliver(packed, runner)
        self._symbol_service.note(runner.seen())
        self._served_visits.finish()
        self._retire_if_large()
        _log.info(
            "capture finished",
            extra={
                "fields": {
                    "visit": visit,
                    "campaign": plan.campaign,
                    "seconds": round(runner.seconds, 3),
                    "samples": packed.samples,
                    "bytes": len(packed.data),
                }
            },
        )

    def _retire_if_large(self) -> None:
        """Retire this process if it holds much memory and nothing is in progress.

        A retiring server accepts no calls until its calls in progress have ended.
        """
        if self._quota.is_nearly_exceeded and not self._served_visits.is_working:
            _log.info("retiring", extra={"fields": {"memory_mib": resident_memory() >> 20}})
            self._retire()

    def _require_one_event(self, planned: Schedule) -> None:
        """Raise PlanRefused if no event of the plan can be sampled here."""
        reasons = []
        for turn in planned.turns:
            for event in turn:
                if event.event is None:
                    reasons.append(str(event.unavailable))
                    continue
                code = probe(event.event, own=self._resources.own_only)
                if not code:
                    return
                name = capture_pb2.Support.Name(support_of(code)).removeprefix("SUPPORT_").lower()
                reasons.append(f"{event.name}: {name} on this machine")
        raise PlanRefused(gateway_pb2.Refusal.UNSUPPORTED, "; ".join(reasons))

    def _calibrate_refusal(self, reason: int, message: str) -> gateway_pb2.CalibrateReply:
        name = gateway_pb2.CalibrateRefusal.Reason.Name(reason)
        if (suppressed := self._log_limit.admit(f"calibrate {name}")) is not None:
            _log.info(
                "calibration refused", extra={"fields": {"reason": name, "message": message} | suppressed}
            )
        refusal = gateway_pb2.CalibrateRefusal(
            reason=name, message=message, utilisation=self._resources.utilisation()
        )
        return gateway_pb2.CalibrateReply(refusal=refusal)

    def _symbols_refusal(self, reason: int, message: str, fields: dict[str, str]) -> gateway_pb2.SymbolsReply:
        name = gateway_pb2.SymbolsRefusal.Reason.Name(reason)
        if (suppressed := self._log_limit.admit(f"symbols {name}")) is not None:
            extra_fields = {"reason": name, "message": message[:_LOGGED]} | suppressed
            _log.info("symbols refused", extra={"fields": fields | extra_fields})
        return gateway_pb2.SymbolsReply(refusal=gateway_pb2.SymbolsRefusal(reason=name, message=message))

    def _refusal(self, reason: int, message: str, visit: str) -> gateway_pb2.CaptureReply:
        name = gateway_pb2.Refusal.Reason.Name(reason)
        if (suppressed := self._log_limit.admit(name)) is not None:
            fields = {"visit": visit, "reason": name, "message": message[:_LOGGED]} | suppressed
            _log.info("capture refused", extra={"fields": fields})
        return gateway_pb2.CaptureReply(
            refusal=gateway_pb2.Refusal(
                reason=name,
                message=message,
                utilisation=self._resources.utilisation(),
            )
        )


def _deliver(packed: Packed, runner: CaptureRunner) -> Iterator[gateway_pb2.CaptureReply]:
    for start in range(0, len(packed.data), _PIECE_BYTES):
        yield gateway_pb2.CaptureReply(data=packed.data[start : start + _PIECE_BYTES])
    yield gateway_pb2.CaptureReply(
        end=gateway_pb2.End(
            sha256=packed.sha256,
            bytes=len(packed.data),
            raw_bytes=packed.raw_bytes,
            samples=packed.samples,
            seconds=runner.seconds,
            utilisation=runner.utilisation,
        )
    )


def _visit_name(visit_id: bytes) -> str:
    """For the log: the visit id as UUID, or its length if it is not one."""
    return str(uuid.UUID(bytes=visit_id)) if len(visit_id) == 16 else f"({len(visit_id)} bytes)"
