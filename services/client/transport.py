"""How a client reaches the server: what gRPC and HTTP have in common."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from fleetpb import data_pb2

Record = data_pb2.ProfileRecord | data_pb2.CaptureRecord

MOST_RECORD_BYTES = 256 << 20
"""The largest record that is asked for; the server's own limit."""


class Transport(Protocol):
    """One server. Safe to share between threads."""

    def profiles(self, query: data_pb2.ProfileQuery) -> Iterator[data_pb2.ProfileRecord]:
        """One stream, until it ends or breaks. Raises `Refused`, `Broken`."""
        ...

    def captures(self, query: data_pb2.CaptureQuery) -> Iterator[data_pb2.CaptureRecord]:
        """As `profiles`."""
        ...

    def answer(self, route: str, parameters: Mapping[str, str], accept: str) -> bytes:
        """What another route of the HTTP API answers. Raises `Refused`, `Broken`."""
        ...

    def close(self) -> None:
        """Break off all streams."""
        ...
