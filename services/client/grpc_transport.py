"""The data API by gRPC."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar, cast

import grpc

from fleetpb import data_pb2, data_pb2_grpc
from services.client.errors import Broken, Closed, Refused
from services.client.transport import MOST_RECORD_BYTES

_AROUND = 1 << 20
_OPTIONS = (
    ("grpc.max_receive_message_length", MOST_RECORD_BYTES + _AROUND),
    # An unanswered ping reveals a server whose machine vanished.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 15_000),
    ("grpc.enable_retries", 0),  # a stream resumes by its cursor
)
_PASSING = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.UNKNOWN,
    }
)
_Record_co = TypeVar("_Record_co", covariant=True)


class GrpcTransport:
    """A channel to one server."""

    def __init__(
        self,
        target: str,
        *,
        token: str = "",
        secure: bool = False,
        ca: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        """`target` is `host:port` or `unix:/path`; `certificate` and `key` are for mutual TLS, PEM files."""
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        if secure:
            credentials = grpc.ssl_channel_credentials(
                root_certificates=_read(ca), private_key=_read(key), certificate_chain=_read(certificate)
            )
            self._channel = grpc.secure_channel(target, credentials, options=_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        self._stub = data_pb2_grpc.DataApiStub(self._channel)
        self._closed = False

    def profiles(self, query: data_pb2.ProfileQuery) -> Iterator[data_pb2.ProfileRecord]:
        """See `Transport`."""
        self._check()
        return self._records(self._stub.Profiles(query, metadata=self._metadata))

    def captures(self, query: data_pb2.CaptureQuery) -> Iterator[data_pb2.CaptureRecord]:
        """See `Transport`."""
        self._check()
        return self._records(self._stub.Captures(query, metadata=self._metadata))

    def answer(self, route: str, parameters: Mapping[str, str], accept: str) -> bytes:  # noqa: ARG002 - as `Transport`
        """Raises `Refused`: gRPC serves streams only."""
        raise Refused(f"/api/v1/{route} is available over HTTP only.", hint="Connect to the http:// address.")

    def close(self) -> None:
        """Close the channel."""
        self._closed = True
        self._channel.close()

    def _check(self) -> None:
        if self._closed:
            raise Closed("The client is closed.")

    def _records(self, stream: "_Stream[_Record_co]") -> Iterator[_Record_co]:
        try:
            yield from stream
        except grpc.RpcError as error:
            self._check()
            raise _meaning(error) from error
        finally:
            stream.cancel()


class _Stream(Protocol[_Record_co]):
    """The return type of gRPC's streaming calls."""

    def __iter__(self) -> Iterator[_Record_co]: ...
    def __next__(self) -> _Record_co: ...
    def cancel(self) -> bool: ...


def _meaning(error: grpc.RpcError) -> Refused | Broken:
    code, detail = error.code(), error.details() or ""
    # The type stubs declare one pair, but it is a tuple of them.
    metadata = cast("Iterable[tuple[str, str | bytes]]", error.trailing_metadata() or ())
    metadata_texts = {key: value for key, value in metadata if isinstance(value, str)}
    if code in _PASSING and "larger than max" not in detail:
        after = metadata_texts.get("fleetprof-retry-after", "")
        return Broken(
            f"{detail or code.name} ({code.name})",
            hint=metadata_texts.get("fleetprof-hint", ""),
            after_s=float(after) if after.isdecimal() else 0.0,
        )
    if code is grpc.StatusCode.INTERNAL and "RST_STREAM" in detail:
        return Broken(detail)
    at = metadata_texts.get("fleetprof-at", "")
    return Refused(
        detail or code.name,
        kind=metadata_texts.get("fleetprof-kind", code.name.lower()),
        hint=metadata_texts.get("fleetprof-hint", ""),
        at=int(at) if at.isdecimal() else None,
    )


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()
