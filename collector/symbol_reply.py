"""The stream of one Symbols call, unpacked and checked.

Strategy: messages in, bytes out, no I/O. `take` accepts the replies in the order they came, and yields
the content as it is unpacked. A violation of gateway.proto's order, the limits or the checksum raises
`MalformedReply`; content that was yielded before is then worthless.

    state      begin    data   end       refusal
    OPEN       BEGUN    –      –         REFUSED
    BEGUN      –        BEGUN  COMPLETE  REFUSED      (it failed on the way)
"""

import hashlib
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

import zstandard

from collector.errors import MalformedReply
from fleetpb import gateway_pb2

MAX_RAW_BYTES: Final = 1 << 30
"""Limit of one binary's symbols, unpacked; above a gateway's default."""
_FED_AT_ONCE: Final = 1 << 10
"""Packed bytes per step. A step unpacks to 32 MiB at most: a zstd block has at least four bytes and unpacks to
128 KiB."""
_MAX_STRANGERS: Final = 100


class _State(Enum):
    OPEN = auto()
    BEGUN = auto()
    COMPLETE = auto()
    REFUSED = auto()


class SymbolsReader:
    """Reads one response."""

    def __init__(self, *, limit: int = MAX_RAW_BYTES) -> None:
        """`limit`: most bytes after unpacking."""
        self.name = ""
        """The file's name on the gateway; set by `begin`."""
        self.refusal: gateway_pb2.SymbolsRefusal | None = None
        self._state = _State.OPEN
        self._limit = limit
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        self._digest = hashlib.sha256()
        self._bytes = self._raw_bytes = self._strangers = 0

    @property
    def is_complete(self) -> bool:
        """The whole content was received, and its checksum is correct."""
        return self._state is _State.COMPLETE

    @property
    def is_finished(self) -> bool:
        """`end` or `refusal` has been received."""
        return self._state in {_State.COMPLETE, _State.REFUSED}

    def take(self, reply: gateway_pb2.SymbolsReply) -> Iterator[bytes]:
        """Yield the content of the next message; exhaust the iterator. Raises `MalformedReply`."""
        kind = reply.WhichOneof("reply")
        if kind == "refusal" and not self.is_finished:
            self.refusal, self._state = reply.refusal, _State.REFUSED
        elif kind == "begin" and self._state is _State.OPEN:
            if reply.begin.raw_bytes > self._limit:
                raise MalformedReply(f"The gateway sends more than the limit of {self._limit:,} bytes.")
            self.name, self._state = reply.begin.name, _State.BEGUN
        elif kind == "data" and self._state is _State.BEGUN:
            yield from self._unpacked(reply.data)
        elif kind == "end" and self._state is _State.BEGUN:
            self._check(reply.end)
            self._state = _State.COMPLETE
        elif kind is None and self._strangers < _MAX_STRANGERS:  # newer than this program
            self._strangers += 1
        else:
            raise MalformedReply(f"The gateway sent {kind!r} when its stream was {self._state.name.lower()}.")

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if not data:
            raise MalformedReply("The gateway sent an empty piece.")
        self._bytes += len(data)
        self._digest.update(data)
        for start in range(0, len(data), _FED_AT_ONCE):
            try:
                piece = self._unpacker.decompress(data[start : start + _FED_AT_ONCE])
            except zstandard.ZstdError as error:
                raise MalformedReply(f"Cannot decompress the gateway's response: {error}.") from error
            self._raw_bytes += len(piece)
            if self._raw_bytes > self._limit:
                raise MalformedReply(f"It has more than {self._limit:,} bytes uncompressed, the limit.")
            if piece:
                yield piece

    def _check(self, end: gateway_pb2.SymbolsEnd) -> None:
        if (end.bytes, end.raw_bytes) != (self._bytes, self._raw_bytes):
            raise MalformedReply(
                f"The gateway reports {end.bytes:,} bytes sent, but {self._bytes:,} arrived."
            )
        if end.sha256 != self._digest.digest():
            raise MalformedReply("The SHA-256 differs from the one that the gateway computed.")
