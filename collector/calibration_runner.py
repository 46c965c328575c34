"""One Calibrate call: have a machine measured by its gateway, and say what came.

Unlike a visit, somebody waits for it: what goes wrong is raised.
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
"""On top of the measuring: connecting, and making the memory that loads are spread over."""
_MOST_VALUES = 1000
_MOST_TEXT = 256
"""As much of a platform's name as the inventory keeps."""


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
    """What a gateway measured; one value a repetition, all above 0."""

    platform: str
    engine: str
    """What did the work."""
    single: tuple[float, ...] = ()
    both: tuple[float, ...] = ()
    latency_ns: tuple[float, ...] = ()
    bytes_per_s: tuple[float, ...] = ()
    working_set_bytes: int = 0
    cache_bytes: int = 0
    reading_cpus: int = 0
    disturbed: int = 0
    """Repetitions that are not there."""
    changes: tuple[str, ...] = ()
    """Ways in which the gateway changed what was asked."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the figures."""


def smt_request(work: Workload, seconds: float, repetitions: int) -> _Request:
    """Throughput of one thread of a core and of both."""
    return _Request(
        what=_Request.SMT, work=_WORKS[work], duration_ms=round(seconds * 1000), repetitions=repetitions
    )


def memory_request(seconds: float, repetitions: int) -> _Request:
    """Latency and bandwidth."""
    return _Request(what=_Request.MEMORY, duration_ms=round(seconds * 1000), repetitions=repetitions)


async def calibrate(
    address: str,
    request: _Request,
    credentials: Credentials | None = None,
    *,
    platform: str = "",
    on_progress: Callable[[float], None] = lambda _done: None,
) -> CalibrationResult:
    """Have the machine measured; `on_progress` gets the share that is done, 0…1.

    A machine that says it is of another `platform` than this one is not measured: its figure would take the place of
    another platform's. Empty: any will do.

    Raises `CalibrationFailed`, `NoAnswer`, `MalformedReply`, `BadAddress`, `BadCredentials`.
    """
    async with open_channel(address, credentials) as channel:
        stub = gateway_pb2_grpc.GatewayStub(channel)
        begin = end = None
        try:
            # grpc.aio gives None for what it cannot parse.
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
    """Raises `CalibrationFailed` where the machine is not what it is taken for."""
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
    """What came, if it can be. Raises `MalformedReply`."""
    smt = request.what == _Request.SMT
    wanted = (end.single, end.both) if smt else (end.latency_ns, end.bytes_per_s)
    for values in wanted:
        if not 0 < len(values) <= _MOST_VALUES or not all(
            math.isfinite(value) and value > 0 for value in values
        ):
            raise MalformedReply("The gateway returned no valid measurements.")
    # Exactly as captures have it, by which models look for it; some names have several blanks in a row.
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
