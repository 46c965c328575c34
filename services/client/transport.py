"""The common interface of the gRPC and HTTP transports."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from fleetpb import data_pb2

Record = data_pb2.ProfileRecord | data_pb2.CaptureRecord

MOST_RECORD_BYTES = 256 << 20
"""The largest record that a client requests; also the server's limit."""


class Transport(Protocol):
    """One server. Safe to share between threads."""

    def profiles(self, query: data_pb2.ProfileQuery) -> Iterator[data_pb2.ProfileRecord]:
        """One stream, until it ends or breaks. Raises `Refused`, `Broken`."""
        ...

    def captures(self, query: data_pb2.CaptureQuery) -> Iterator[data_pb2.CaptureRecord]:
        """One stream of captures; otherwise as `profiles`."""
        ...

    def answer(self, route: str, parameters: Mapping[str, str], accept: str) -> bytes:
        """The answer of another route of the HTTP API. Raises `Refused`, `Broken`."""
        ...

    def close(self) -> None:
        """End all streams."""
        ...
