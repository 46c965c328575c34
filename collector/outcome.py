"""Maps a failed call to an outcome that can be counted, and to a sentence for a person."""

import math
from dataclasses import dataclass

import grpc

from collector.channel import why_no_tls
from fleetpb import gateway_pb2
from storage.schema import Outcome

_Code = grpc.StatusCode
_Reason = gateway_pb2.Refusal.Reason

_BY_CODE = {
    _Code.UNAVAILABLE: Outcome.UNREACHABLE,
    _Code.DEADLINE_EXCEEDED: Outcome.TIMEOUT,
    _Code.PERMISSION_DENIED: Outcome.REFUSED,
    _Code.UNAUTHENTICATED: Outcome.REFUSED,
    _Code.RESOURCE_EXHAUSTED: Outcome.REFUSED,
    _Code.UNIMPLEMENTED: Outcome.GARBAGE,
}
_TOO_LARGE = "Received message larger than max"  # gRPC's text when this side refuses a message, with RESOURCE_EXHAUSTED

_MOST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a call had come when it failed."""

    connected: bool
    """The socket accepted a gRPC connection."""
    begun: bool
    """The gateway had announced that it samples."""


def of_refusal(refusal: gateway_pb2.Refusal) -> tuple[Outcome, str]:
    """FAILED if the gateway failed while sampling; REFUSED for any other refusal."""
    name = _Reason.Name(refusal.reason) if refusal.reason in _Reason.values() else f"reason {refusal.reason}"
    outcome = Outcome.FAILED if refusal.reason == gateway_pb2.Refusal.FAILED else Outcome.REFUSED
    return outcome, f"{name}: {one_line(refusal.message) or 'the gateway gave no reason'}"


def of_status(code: grpc.StatusCode, details: str, reached: Reached) -> tuple[Outcome, str]:
    """Outcome and sentence for the status that ended a call."""
    sentence = f"{code.name}: {one_line(details) or 'no details'}"
    if code is _Code.UNAVAILABLE and (meaning := why_no_tls(details)):
        return Outcome.UNREACHABLE, f"{meaning} {sentence}"
    if _TOO_LARGE in details:
        return Outcome.GARBAGE, f"The gateway sent a message over the size limit. {sentence}"
    if code is _Code.UNIMPLEMENTED:
        return Outcome.GARBAGE, f"The server is not a fleetprof gateway. {sentence}"
    if code is _Code.DEADLINE_EXCEEDED and not reached.connected:
        return Outcome.UNREACHABLE, f"Cannot connect. {sentence}"
    if reached.begun and code in {_Code.UNAVAILABLE, _Code.CANCELLED}:
        return Outcome.FAILED, f"The connection was lost while sampling. {sentence}"
    return _BY_CODE.get(code, Outcome.FAILED), sentence


def of_timeout(seconds: float, reached: Reached) -> tuple[Outcome, str]:
    """Outcome and sentence for a call that received no message within its time limit."""
    if not reached.connected:
        return Outcome.UNREACHABLE, f"Cannot connect within {seconds:g} s."
    doing = "finish" if reached.begun else "begin"
    return Outcome.TIMEOUT, f"The gateway did not {doing} within {seconds:g} s."


def one_line(text: str) -> str:
    """Untrusted text made safe for a log, a terminal and a database: one line, no control characters, short."""
    clean = "".join(character if character.isprintable() else " " for character in text[: 4 * _MOST_TEXT])
    short = " ".join(clean.split())
    return short if len(short) <= _MOST_TEXT else f"{short[: _MOST_TEXT - 1]}…"


def share(value: float) -> float | None:
    """A gateway's busy share if it is valid (0…1)."""
    return value if math.isfinite(value) and 0.0 <= value <= 1.0 else None
