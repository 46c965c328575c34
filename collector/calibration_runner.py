"""One Calibrate call: a gateway measures its machine and returns the results.

Unlike a visit, the call raises on failure: a person waits for its result.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import grpc

from collector.channel import Credentials, open_channel, why_no_tls
from collector.errors import CalibrationFailed, MalformedReply, NoAnswer
from collector.outcome import one_line
from fleetpb import gateway_pb2, gateway_pb2_grpc

_Request = gateway_pb2.CalibrateRequest
_Refusal = gateway_pb2.CalibrateRefusal
_PATIENCE_S = 30.0
"""Added to the time of measuring: connecting, and allocating the memory that loads are spread over."""
_MOST_VALUES = 1000
_MOST_TEXT = 256
"""Length to which the inventory cuts a platform's name."""


class Workload(StrEnum):
    """What the threads of a core do while their overlap is measured."""

    INTEGER = "integer"
    FLOAT = "float"
    MEMORY = "memory"


_WORKS = {
    Workload.INTEGER: _Request.INTEGER,
    Workload.FLOAT: _Request.FLOAT,
    Workload.MEMORY: _Request.MEMORY_LOADS,
}


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """A gateway's measurements; one value per repetition, all above 0."""

    platform: str
    engine: str
    """The program that did the work."""
    single: tuple[float, ...] = ()
    both: tuple[float, ...] = ()
    latency_ns: tuple[float, ...] = ()
    bytes_per_s: tuple[float, ...] = ()
    working_set_bytes: int = 0
    cache_bytes: int = 0
    reading_cpus: int = 0
    disturbed: int = 0
    """Repetitions that were discarded."""
    changes: tuple[str, ...] = ()
    """Ways in which the gateway changed the request."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the figures."""


def smt_request(work: Workload, seconds: float, repetitions: int) -> _Request:
    """Request for the throughput of one thread of a core and of both."""
    return _Request(
        what=_Request.SMT, work=_WORKS[work], duration_ms=round(seconds * 1000), repetitions=repetitions
    )


def memory_request(seconds: float, repetitions: int) -> _Request:
    """Request for latency and bandwidth."""
    return _Request(what=_Request.MEMORY, duration_ms=round(seconds * 1000), repetitions=repetitions)


async def calibrate(
    address: str,
    request: _Request,
    credentials: Credentials | None = None,
    *,
    platform: str = "",
    on_progress: Callable[[float], None] = lambda _done: None,
) -> CalibrationResult:
    """Measure the machine; `on_progress` gets the share that is done, 0…1.

    A machine that reports another platform than `platform` is not measured: its figure would replace that of
    another platform. Empty: any platform is accepted.

    Raises `CalibrationFailed`, `NoAnswer`, `MalformedReply`, `BadAddress`, `BadCredentials`.
    """
    async with open_channel(address, credentials) as channel:
        stub = gateway_pb2_grpc.GatewayStub(channel)
        begin = end = None
        try:
            # grpc.aio yields None for a message that it cannot parse.
            async for reply in stub.Calibrate(request, timeout=request.duration_ms / 1000 + _PATIENCE_S):
                kind = reply.WhichOneof("reply") if isinstance(reply, gateway_pb2.CalibrateReply) else None
                if kind == "begin" and begin is None:
                    begin = reply.begin
                    _check_platform(begin, platform)
                elif kind == "progress" and begin is not None:
                    if math.isfinite(reply.progress.done):
                        on_progress(min(1.0, max(0.0, reply.progress.done)))
                elif kind == "refusal":
                    raise CalibrationFailed(_why(reply.refusal))
                elif kind == "end" and begin is not None:
                    end = reply.end
                    break
                else:
                    raise MalformedReply("The gateway's response does not match gateway.proto's Calibrate.")
        except grpc.aio.AioRpcError as error:
            raise _no_answer(error) from error
    if begin is None or end is None:
        raise MalformedReply("The stream stopped before its end.")
    return _checked(request, begin, end)


def _check_platform(begin: gateway_pb2.CalibrateBegin, wanted: str) -> None:
    """Raises `CalibrationFailed` if the machine's platform is not `wanted`."""
    named = begin.platform[:_MOST_TEXT]
    if wanted and named != wanted:
        raise CalibrationFailed(
            f"The gateway reports the platform {one_line(named) or 'unknown'}, but the inventory has {wanted}. Nothing "
            "was measured: the result would be stored for the gateway's platform, perhaps replacing that of another. "
            "If the gateway is right, add --force."
        )


def _checked(
    request: _Request, begin: gateway_pb2.CalibrateBegin, end: gateway_pb2.CalibrateEnd
) -> CalibrationResult:
    """The measurements, if they are plausible. Raises `MalformedReply`."""
    smt = request.what == _Request.SMT
    wanted = (end.single, end.both) if smt else (end.latency_ns, end.bytes_per_s)
    for values in wanted:
        if not 0 < len(values) <= _MOST_VALUES or not all(
            math.isfinite(value) and value > 0 for value in values
        ):
            raise MalformedReply("The gateway returned no valid measurements.")
    # Unchanged, because models look it up by the text in captures; some names have several blanks in a row.
    platform = begin.platform[:_MOST_TEXT]
    if not platform or not platform.isprintable():
        raise MalformedReply("The gateway does not report the platform of its machine.")
    return CalibrationResult(
        platform=platform,
        engine=one_line(end.engine),
        single=tuple(end.single) if smt else (),
        both=tuple(end.both) if smt else (),
        latency_ns=() if smt else tuple(end.latency_ns),
        bytes_per_s=() if smt else tuple(end.bytes_per_s),
        working_set_bytes=end.working_set_bytes,
        cache_bytes=end.cache_bytes,
        reading_cpus=len(end.reading_cpus),
        disturbed=end.disturbed,
        changes=tuple(one_line(change) for change in begin.changes[:20]),
        doubts=tuple(one_line(doubt) for doubt in end.doubts[:20]),
    )


def _why(refusal: _Refusal) -> str:
    reason = refusal.reason
    name = _Refusal.Reason.Name(reason) if reason in _Refusal.Reason.values() else f"reason {reason}"
    return f"The gateway measures nothing. {name}: {one_line(refusal.message) or 'it gave no reason'}"


def _no_answer(error: grpc.aio.AioRpcError) -> NoAnswer:
    details = error.details() or ""
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return NoAnswer("The gateway is older than calibration; install a newer one on that machine.")
    return NoAnswer(f"{why_no_tls(details)} {error.code().name}: {one_line(details) or 'no details'}".strip())
