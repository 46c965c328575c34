"""The data API, and the rest of the API, over HTTP."""

import http.client
import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import Message
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Never, TypeVar
from urllib.parse import urlencode

from fleetpb import data_pb2
from services.client.delimited import messages
from services.client.errors import Broken, Closed, Refused

_MEDIA_TYPE = "application/vnd.fleetprof.data+protobuf"
_SILENCE_S = 60.0
"""Read timeout: a stream sends `progress` every ten seconds, and other answers take at most half of this time."""
_PIECE = 1 << 16
_BREAKS = (OSError, http.client.HTTPException, zlib.error, EOFError)
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_GZIP_WINDOW = 31
_Record = TypeVar("_Record", data_pb2.ProfileRecord, data_pb2.CaptureRecord)
_SELECTION = {"from_time": "from", "to_time": "to"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: urllib would send the token to any host that a redirect names."""

    def redirect_request(  # noqa: PLR0917 - urllib's own
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,  # noqa: ARG002 - urllib's own
        headers: Message,  # noqa: ARG002 - urllib's own
        newurl: str,
    ) -> Never:
        fp.close()
        raise Refused(
            f"{req.host} redirects to {newurl[:200]!r} (HTTP {code}).",
            kind="redirect",
            hint="Redirects are not followed, so that the token stays with this server. If the other one is the right server, connect to its URL.",
        )


class HttpTransport:
    """One server. Each stream has its own connection."""

    def __init__(self, url: str, *, token: str = "", ca: Path | None = None) -> None:
        """`url` begins with http:// or https://; `ca` is the authority of the server's certificate, PEM."""
        self._url = url.rstrip("/")
        self._token = token
        context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        # The environment's proxy settings are not for machines of the fleet.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _NoRedirects()
        )
        self._lock = threading.Lock()
        self._closed = False
        self._reading: set[http.client.HTTPResponse] = set()

    def profiles(self, query: data_pb2.ProfileQuery) -> Iterator[data_pb2.ProfileRecord]:
        """See `Transport`."""
        parameters = _parameters(query)
        if query.only_matching:
            parameters["only_matching"] = "true"
        return self._records("data/profiles", parameters, data_pb2.ProfileRecord)

    def captures(self, query: data_pb2.CaptureQuery) -> Iterator[data_pb2.CaptureRecord]:
        """See `Transport`."""
        return self._records("data/captures", _parameters(query), data_pb2.CaptureRecord)

    def answer(self, route: str, parameters: Mapping[str, str], accept: str) -> bytes:
        """See `Transport`."""
        with self._opened(route, parameters, accept, "gzip") as response:
            try:
                content = b"".join(_unpacked(response))
            except _BREAKS as error:
                self._check()
                raise Broken(f"The response ended early: {error!r}") from error
            self._check()  # a response that `close` cut may look complete
            return content

    def close(self) -> None:
        """Cut all responses that are being read, in any thread."""
        with self._lock:
            self._closed = True
            reading = list(self._reading)
        for response in reading:
            _shut(response)

    def _check(self) -> None:
        if self._closed:
            raise Closed("The client is closed.")

    def _records(self, route: str, parameters: Mapping[str, str], kind: type[_Record]) -> Iterator[_Record]:
        coding = "zstd, gzip" if find_spec("zstandard") else "gzip"
        with self._opened(route, parameters, _MEDIA_TYPE, coding) as response:
            try:
                for data in messages(_unpacked(response)):
                    record = kind.FromString(data)
                    if record.HasField("failure"):
                        raise _failed(record.failure)
                    yield record
            except _BREAKS as error:
                self._check()
                raise Broken(f"The stream ended early: {error!r}") from error

    @contextmanager
    def _opened(
        self, route: str, parameters: Mapping[str, str], accept: str, coding: str
    ) -> Iterator[http.client.HTTPResponse]:
        """A response that `close` can cut. Raises `Closed`."""
        self._check()
        with self._open(route, parameters, accept, coding) as response:
            with self._lock:
                self._check()
                self._reading.add(response)
            try:
                yield response
            finally:
                with self._lock:
                    self._reading.discard(response)

    def _open(
        self, route: str, parameters: Mapping[str, str], accept: str, coding: str
    ) -> http.client.HTTPResponse:
        headers = {"Accept": accept, "Accept-Encoding": coding}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(  # noqa: S310 - `connect` lets http and https pass
            f"{self._url}/api/v1/{route}?{urlencode(parameters)}", headers=headers
        )
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=_SILENCE_S)
        except urllib.error.HTTPError as error:
            with error:
                raise _meaning(error.code, error.headers, error.read(_PIECE)) from error
        except (OSError, http.client.HTTPException) as error:
            raise Broken(f"{self._url} does not respond: {error}") from error
        return response


def _parameters(query: data_pb2.ProfileQuery | data_pb2.CaptureQuery) -> dict[str, str]:
    found = {_SELECTION.get(field.name, field.name): value for field, value in query.selection.ListFields()}
    if query.cursor:
        found["cursor"] = query.cursor
    if query.follow:
        found["follow"] = "true"
    if query.max_record_bytes:
        found["max_record_bytes"] = str(query.max_record_bytes)
    return found


def _unpacked(response: http.client.HTTPResponse) -> Iterator[bytes]:
    unpack: Callable[[bytes], bytes]
    match response.headers.get("Content-Encoding", "identity"):
        case "gzip":
            unpack = zlib.decompressobj(wbits=_GZIP_WINDOW).decompress
        case "zstd":
            import zstandard  # noqa: PLC0415 - the request offered zstd only if the package is installed

            unpack = zstandard.ZstdDecompressor().decompressobj().decompress
        case _:
            unpack = bytes
    while piece := response.read1(_PIECE):
        yield unpack(piece)


def _shut(response: http.client.HTTPResponse) -> None:
    """End a read in another thread: closing the file would wait for it."""
    raw = getattr(response.fp, "raw", None)
    connection = getattr(raw, "_sock", None)
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _failed(failure: data_pb2.StreamFailure) -> Refused | Broken:
    if failure.passing:
        return Broken(failure.detail, hint=failure.hint)
    return Refused(failure.detail, kind=failure.kind, hint=failure.hint)


def _meaning(status: int, headers: Message, body: bytes) -> Refused | Broken:
    try:
        document = json.loads(body)
        detail, hint = str(document["detail"]), str(document.get("hint", ""))
        kind, at = str(document.get("type", "")).rpartition(":")[2], document.get("at")
    except (ValueError, KeyError, TypeError):
        detail, hint, kind, at = body[:500].decode("utf-8", "replace"), "", "", None
    if status in _PASSING:
        after = headers.get("Retry-After", "")
        return Broken(
            f"{detail} (HTTP {status})", hint=hint, after_s=float(after) if after.isdecimal() else 0.0
        )
    return Refused(detail, kind=kind, hint=hint, at=at if isinstance(at, int) else None)
