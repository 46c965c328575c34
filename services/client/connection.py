"""Connects to a fleetprof server on this machine or another one."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from fleetpb import data_pb2
from services.client.errors import ClientError, NeedsPackage
from services.client.grpc_transport import GrpcTransport
from services.client.http_transport import HttpTransport
from services.client.record_streams import CaptureStream, ProfileStream
from services.client.resumable_stream import RETRIES, ResumableStream
from services.client.transport import MOST_RECORD_BYTES, Transport

_ARROW = "application/vnd.apache.arrow.stream"
_NAMES = {"start": "from_time", "end": "to_time"}
_SELECTION = (
    "start",
    "end",
    "select",
    "campaign",
    "event",
    "unit",
    "focus",
    "ignore",
    "hide",
    "show",
    "show_from",
)


class Client:
    """One server; made by `connect`. Safe to share between threads, each with its own streams.

    Every call takes a selection as keywords with texts (docs/selections.md): `start`, `end`, `select`, `campaign`,
    `event`, `unit`, `focus`, `ignore`, `hide`, `show`, `show_from`. Omitted ones have the API's defaults.
    """

    def __init__(self, transport: Transport, *, retries: int = RETRIES) -> None:
        self._transport = transport
        self._retries = retries

    def profiles(
        self, *, cursor: str = "", follow: bool = False, only_matching: bool = False, **selection: str
    ) -> ProfileStream:
        """The symbolized profiles of a selection, visit by visit. No request is sent before the iteration starts.

        `cursor` resumes another stream of the same query. `follow` streams visits without end as they are ingested:
        from now on, or, with the `follow_cursor` of an ended stream, since that stream began. `only_matching` omits
        visits without matching samples; sums stay right, variances do not.
        """

        def begin(at: str) -> Any:
            return self._transport.profiles(
                data_pb2.ProfileQuery(
                    selection=_selection(selection),
                    cursor=at,
                    follow=follow,
                    only_matching=only_matching,
                    max_record_bytes=MOST_RECORD_BYTES,
                )
            )

        return ProfileStream(ResumableStream(begin, cursor, retries=self._retries))

    def captures(self, *, cursor: str = "", follow: bool = False, **selection: str) -> CaptureStream:
        """The raw captures of a selection. The token needs the role operator. Otherwise as `profiles`."""

        def begin(at: str) -> Any:
            return self._transport.captures(
                data_pb2.CaptureQuery(
                    selection=_selection(selection),
                    cursor=at,
                    follow=follow,
                    max_record_bytes=MOST_RECORD_BYTES,
                )
            )

        return CaptureStream(ResumableStream(begin, cursor, retries=self._retries))

    def ask(self, route: str, **parameters: str | int) -> dict[str, Any]:
        """The answer of another route of the HTTP API (docs/api.md), e.g. `ask("flame", nodes=500, start="now-1d")`.

        Raises `Refused`, `Broken`.
        """
        answer: dict[str, Any] = json.loads(
            self._transport.answer(route, _parameters(parameters), "application/json")
        )
        return answer

    def table(self, by: str = "function", **parameters: str | int) -> Any:
        """A table of the selection as a pyarrow.Table. Raises `NeedsPackage`, `Refused`, `Broken`."""
        try:
            from pyarrow import ipc  # noqa: PLC0415 - the streams do not need it
        except ImportError as error:
            raise NeedsPackage("Arrow tables need pyarrow: pip install pyarrow") from error
        content = self._transport.answer("table", _parameters({"by": by, **parameters}), _ARROW)
        return ipc.open_stream(content).read_all()

    def close(self) -> None:
        """End all streams."""
        self._transport.close()

    def __enter__(self) -> Self:
        """The client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the client."""
        self.close()


def connect(
    url: str,
    *,
    token: str = "",
    ca: str | Path | None = None,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
    retries: int = RETRIES,
) -> Client:
    """A client of the API at a URL; connects on first use.

    | url | reaches |
    |---|---|
    | `http://host:7070`, `https://host` | all of the API |
    | `grpc://127.0.0.1:7080`, `grpcs://host:7080` | the data API by gRPC, plain or over TLS |
    | `unix:/path` | the same on a socket of this machine, which needs no token |

    `token` is one of FLEETPROF_API_TOKENS; `ca` the authority of the server's certificate; `certificate` and
    `key` the caller's own, for mutual TLS; all PEM files. Raises `ClientError` for another URL.
    """
    scheme = url.partition(":")[0]
    files = {
        name: None if path is None else Path(path)
        for name, path in {"ca": ca, "certificate": certificate, "key": key}.items()
    }
    if scheme in {"http", "https"}:
        return Client(HttpTransport(url, token=token, ca=files["ca"]), retries=retries)
    if scheme == "unix":
        return Client(GrpcTransport(url, token=token), retries=retries)
    if scheme in {"grpc", "grpcs"} and urlsplit(url).netloc:
        target = urlsplit(url).netloc
        return Client(GrpcTransport(target, token=token, secure=scheme == "grpcs", **files), retries=retries)
    raise ClientError(
        f"Invalid URL {url!r}: expected http://…, https://…, grpc://HOST:PORT, grpcs://HOST:PORT or unix:/PATH."
    )


def _selection(given: Mapping[str, str]) -> data_pb2.Selection:
    unknown = sorted(set(given) - set(_SELECTION))
    if unknown:
        raise TypeError(
            f"Unknown parts of a selection: {', '.join(unknown)}. Valid parts: {', '.join(_SELECTION)}."
        )
    return data_pb2.Selection(**{_NAMES.get(name, name): value for name, value in given.items()})


def _parameters(given: Mapping[str, str | int]) -> dict[str, str]:
    names = {"start": "from", "end": "to"}
    return {names.get(name, name): str(value) for name, value in given.items()}
