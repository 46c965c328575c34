"""The stream of one Capture call, assembled and checked.

Strategy: messages in, values out, no I/O. `take` accepts the replies in the order they came. A violation
of gateway.proto's order, the limits or the checksum raises `MalformedReply`; the reader must not be used
after that. `finished` is true after the stream's last message; a stream that stops earlier is no capture.

    state      begin    progress  data   end       refusal
    OPEN       BEGUN    –         –      –         REFUSED
    BEGUN      –        BEGUN     DATA   –         REFUSED      (sampling failed)
    DATA       –        –         DATA   COMPLETE  REFUSED
"""

import hashlib
from enum import Enum, auto

from collector.errors import MalformedReply
from fleetpb import gateway_pb2

MAX_BLOB_BYTES = 32 << 20
"""Limit of one compressed capture; a minute of 256 busy CPUs at 99 Hz stays below a tenth of it."""
MAX_RAW_BYTES = 256 << 20
"""Limit of one capture after decompression."""
MAX_PROGRESS = 10_000
"""Limit of the messages besides the capture's pieces: a stream without end is cut off."""


class _State(Enum):
    OPEN = auto()
    BEGUN = auto()
    DATA = auto()
    COMPLETE = auto()
    REFUSED = auto()


_NEXT = {
    (_State.OPEN, "begin"): _State.BEGUN,
    (_State.OPEN, "refusal"): _State.REFUSED,
    (_State.BEGUN, "progress"): _State.BEGUN,
    (_State.BEGUN, "data"): _State.DATA,
    (_State.BEGUN, "refusal"): _State.REFUSED,
    (_State.DATA, "data"): _State.DATA,
    (_State.DATA, "end"): _State.COMPLETE,
    (_State.DATA, "refusal"): _State.REFUSED,
}


class ReplyReader:
    """Assembles one capture."""

    def __init__(self, *, limit: int = MAX_BLOB_BYTES) -> None:
        """`limit`: most bytes of a capture."""
        self.begin: gateway_pb2.Begin | None = None
        self.end: gateway_pb2.End | None = None
        self.refusal: gateway_pb2.Refusal | None = None
        self._state = _State.OPEN
        self._limit = limit
        self._content = bytearray()  # objects for pieces of a byte or two take twenty times as much
        self._bytes = 0
        self._digest = hashlib.sha256()
        self._others = 0

    def take(self, reply: gateway_pb2.CaptureReply) -> None:
        """Process the next message. Raises `MalformedReply`."""
        kind = reply.WhichOneof("reply")
        self._count(kind)
        if kind is None:  # a kind of message newer than this program is ignored
            return
        state = _NEXT.get((self._state, kind))
        if state is None:
            raise MalformedReply(f"The gateway sent {kind!r} when its stream was {self._state.name.lower()}.")
        self._state = state
        if kind == "begin":
            self.begin = reply.begin
        elif kind == "data":
            self._add(reply.data)
        elif kind == "end":
            self._check(reply.end)
            self.end = reply.end
        elif kind == "refusal":
            self.refusal = reply.refusal

    @property
    def finished(self) -> bool:
        """`end` or `refusal` has been received."""
        return self._state in {_State.COMPLETE, _State.REFUSED}

    @property
    def blob(self) -> bytes:
        """The compressed capture, checked against `end`. Raises ValueError before `end` has been received."""
        if self.end is None:
            raise ValueError("the stream has not ended")
        return bytes(self._content)

    def _count(self, kind: str | None) -> None:
        if kind != "data":
            self._others += 1
            if self._others > MAX_PROGRESS:
                raise MalformedReply(
                    f"The gateway sent more than {MAX_PROGRESS:,} messages without finishing."
                )

    def _add(self, piece: bytes) -> None:
        if not piece:
            raise MalformedReply("The gateway sent an empty piece of the capture.")
        self._bytes += len(piece)
        if self._bytes > self._limit:
            raise MalformedReply(f"The capture is larger than the limit of {self._limit:,} bytes.")
        self._digest.update(piece)
        self._content += piece

    def _check(self, end: gateway_pb2.End) -> None:
        if end.bytes != self._bytes:
            raise MalformedReply(
                f"The gateway reports {end.bytes:,} bytes sent, but {self._bytes:,} arrived."
            )
        if end.sha256 != self._digest.digest():
            raise MalformedReply("The capture's SHA-256 differs from the one that the gateway computed.")
