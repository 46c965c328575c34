"""One visit: calls a machine's gateway, receives its capture, and returns the outcome.

A visit raises nothing for failures of a gateway or a network: each becomes one of the outcomes of
`storage.schema.Outcome` with a sentence for a person, and the machine's utilisation if it was received
before the failure (a failed visit still informs the weights, DESIGN §3.2).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from uuid import UUID

import grpc
from google.protobuf.message import DecodeError

from collector import outcome as outcomes
from collector.channel import Credentials, open_channel
from collector.errors import BadAddress, BadCredentials, MalformedReply
from collector.reply import MAX_BLOB_BYTES, MAX_RAW_BYTES, ReplyReader
from fleetpb import capture_pb2, gateway_pb2
from storage.errors import BadCapture
from storage.ingest.decode_capture import decode_capture
from storage.schema import Outcome
from storage.work_partitions import partition_of

_CAPTURE = f"/{gateway_pb2.DESCRIPTOR.services_by_name['Gateway'].full_name}/Capture"
_CLOCK_GRAIN_S = 1.0
"""A window's stated length may exceed the call's duration by this much: clocks differ in pace."""


def utc_now() -> datetime:
    """The collector's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ReceivedCapture:
    """A received capture, checked to be of this visit."""

    blob: bytes
    sha256: bytes
    raw_bytes: int
    samples: int
    machine: capture_pb2.Machine | None
    """The machine during the window; None: the gateway could not read it."""
    partition: int = 0
    """The capture's partition, by `storage.work_partitions.partition_of`."""


@dataclass(frozen=True, slots=True)
class VisitResult:
    """Result of a visit."""

    outcome: Outcome
    detail: str
    """A sentence; empty if the visit succeeded."""
    started_at: datetime
    ended_at: datetime
    seconds: float | None = None
    """Length of the window that was sampled; only if the visit succeeded."""
    utilisation: float | None = None
    """Busy share of the machine, 0…1; None: not received."""
    clock_skew_s: float | None = None
    """Machine's wall clock − collector's, accurate to the network's delay; None: not known."""
    changes: tuple[str, ...] = ()
    """Ways in which the gateway changed the plan, a sentence each."""
    received: ReceivedCapture | None = None


@dataclass(frozen=True, slots=True)
class Visitor:
    """Visits machines; one instance serves any number of concurrent visits."""

    credentials: Credentials | None = None
    """Required for every address but Unix sockets."""
    blob_limit: int = MAX_BLOB_BYTES
    first_reply_s: float = 10.0
    """Time limit from the call to the first message, including the connection."""
    clock: Callable[[], datetime] = utc_now

    async def visit(
        self,
        address: str,
        plan: gateway_pb2.Plan,
        *,
        deadline_s: float,
        on_progress: Callable[[float, int], None] = lambda _done, _samples: None,
    ) -> VisitResult:
        """Carry out the plan on the machine whose gateway listens at `address`.

        `on_progress` gets the share of the window that has passed (0…1) and the samples so far.
        Raises nothing but asyncio.CancelledError.
        """
        call = _Call(ReplyReader(limit=self.blob_limit), self.clock(), time.monotonic(), on_progress)
        window = None
        try:
            await self._receive(call, address, plan, deadline_s)
            if call.reader.refusal is not None:
                outcome, detail = outcomes.of_refusal(call.reader.refusal)
            else:
                window = await asyncio.to_thread(_decode_window, call, UUID(bytes=plan.visit_id))
                outcome, detail = Outcome.ANSWERED, ""
        except (MalformedReply, BadCapture) as error:
            outcome, detail = Outcome.GARBAGE, outcomes.one_line(str(error))
        except (BadAddress, BadCredentials) as error:
            outcome, detail = Outcome.UNREACHABLE, str(error)
        except grpc.aio.AioRpcError as error:
            outcome, detail = outcomes.of_status(error.code(), error.details() or "", call.reached)
        except TimeoutError:
            limit = deadline_s if call.reached.begun else min(self.first_reply_s, deadline_s)
            outcome, detail = outcomes.of_timeout(limit, call.reached)
        return VisitResult(
            outcome=outcome,
            detail=detail,
            started_at=call.started_at,
            ended_at=self.clock(),
            seconds=window.seconds if window else None,
            utilisation=_utilisation(call.reader),
            clock_skew_s=window.clock_skew_s if window else None,
            changes=_changes(call.reader),
            received=window.received if window else None,
        )

    async def _receive(self, call: "_Call", address: str, plan: gateway_pb2.Plan, deadline_s: float) -> None:
        """Read the stream to its end; an error after the final message is ignored."""
        async with open_channel(address, self.credentials) as channel:
            # Replies are parsed here: grpc.aio turns a message that it cannot parse into None.
            stub: grpc.aio.UnaryStreamMultiCallable[gateway_pb2.Plan, bytes] = channel.unary_stream(
                _CAPTURE, request_serializer=gateway_pb2.Plan.SerializeToString
            )
            stream = stub(plan, timeout=deadline_s)
            try:
                async with asyncio.timeout(min(self.first_reply_s, deadline_s)) as patience:
                    while isinstance(message := await stream.read(), bytes):  # otherwise grpc.aio.EOF
                        if not call.connected:
                            call.connected = True
                            patience.reschedule(None)  # from here on only the call's own deadline applies
                        call.take(message, self.clock)
            except (TimeoutError, grpc.aio.AioRpcError):
                call.connected |= channel.get_state() is grpc.ChannelConnectivity.READY
                if not call.reader.finished:
                    raise
            if not call.reader.finished:
                raise MalformedReply("The stream stopped before its end.")


@dataclass(slots=True)
class _Call:
    """State of a running call."""

    reader: ReplyReader
    started_at: datetime
    began: float
    on_progress: Callable[[float, int], None]
    connected: bool = False
    begun_at: datetime | None = None
    last_message_at: float = 0.0

    @property
    def reached(self) -> outcomes.Reached:
        return outcomes.Reached(connected=self.connected, begun=self.reader.begin is not None)

    def take(self, message: bytes, clock: Callable[[], datetime]) -> None:
        try:
            reply = gateway_pb2.CaptureReply.FromString(message)
        except DecodeError as error:
            raise MalformedReply("The response is not a message of the gateway's protocol.") from error
        self.reader.take(reply)
        self.last_message_at = time.monotonic()
        if self.begun_at is None and self.reader.begin is not None:
            self.begun_at = clock()
        if reply.HasField("progress"):
            self.on_progress(reply.progress.done, reply.progress.samples)


@dataclass(frozen=True, slots=True)
class _Window:
    seconds: float
    clock_skew_s: float | None
    received: ReceivedCapture


def _decode_window(call: _Call, visit_id: UUID) -> _Window:
    """The capture, decoded once to check that it is valid and of this visit.

    Raises `MalformedReply`, `BadCapture`.
    """
    end = call.reader.end
    if end is None:
        raise MalformedReply("The stream stopped before its end.")
    blob = call.reader.blob
    capture = decode_capture(blob, max_raw_bytes=MAX_RAW_BYTES)
    if capture.visit_id != visit_id.bytes:
        raise MalformedReply(f"The capture belongs to another visit ({capture.visit_id.hex() or 'none'}).")
    took = call.last_message_at - call.began
    if not 0 < end.seconds <= took + _CLOCK_GRAIN_S:  # excludes NaN too
        raise MalformedReply(
            f"The gateway reports {end.seconds:g} s of sampling, but the whole call took {took:.1f} s."
        )
    skew = None
    if call.begun_at is not None and capture.window.wall_start_ns:
        skew = capture.window.wall_start_ns / 1e9 - call.begun_at.timestamp()
    received = ReceivedCapture(
        blob=blob,
        sha256=sha256(blob).digest(),
        raw_bytes=capture.ByteSize(),
        samples=sum(segment.samples for segment in capture.segments),
        partition=partition_of(capture),
        machine=capture.machine if capture.HasField("machine") else None,
    )
    return _Window(end.seconds, skew, received)


def _utilisation(reader: ReplyReader) -> float | None:
    """Utilisation of the window if it was finished, else the gateway's last value."""
    if reader.end is not None:
        return outcomes.share(reader.end.utilisation)
    if reader.refusal is not None and reader.refusal.utilisation:  # 0 also means an unset field
        return outcomes.share(reader.refusal.utilisation)
    return outcomes.share(reader.begin.utilisation) if reader.begin is not None else None


def _changes(reader: ReplyReader) -> tuple[str, ...]:
    return tuple(outcomes.one_line(change) for change in reader.begin.changes[:20]) if reader.begin else ()
