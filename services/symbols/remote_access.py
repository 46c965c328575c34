"""A remote repository of symbols, over its HTTP API."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Any, Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import zstandard

from services.errors import SettingsProblem
from services.symbols.errors import ApiRefused, UnusableFile
from services.symbols.source_tree import MEDIA_TYPE
from services.symbols.symbol_files import LocalFile

_T = TypeVar("_T")
Json = dict[str, Any]
Sent = Callable[[int], None]
"""Called with the number of bytes of the file read so far."""

_TIMEOUT_S: Final = 300.0
"""Of one socket operation; a server that inspects a large file sends nothing for a while."""
_TRIES: Final = 4
_LONGEST_PAUSE_S: Final = 10.0
_PASSING: Final = frozenset({429, 502, 503, 504})
_AT_ONCE: Final = 1 << 20
_LEVEL: Final = 3
_LARGEST_ANSWER: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    retry_after: str
    body: bytes


class RemoteSymbols:
    """A `services.symbols.access.SymbolAccess` over HTTP. For one thread."""

    def __init__(self, url: str, token: str | None) -> None:
        """Raises SettingsProblem for an invalid http(s) URL, and for a token sent unencrypted to another machine."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:  # an invalid port or bracketed address
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsProblem(
                f"Invalid API address {url}: expected a URL such as https://fleetprof.example."
            )
        if token and parts.scheme == "http" and not _is_this_machine(parts.hostname):
            raise SettingsProblem(
                f"The token would be sent to {parts.hostname} unencrypted. Use https://, or a tunnel to that "
                f"API: ssh -L 7070:127.0.0.1:{port or 7070} {parts.hostname}, and http://127.0.0.1:7070 here."
            )
        self._url = url
        self._host, self._port, self._secure = parts.hostname, port, parts.scheme == "https"
        self._root = f"{parts.path.rstrip('/')}/api/v1"
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )

    def known(self, sha256s: Sequence[bytes]) -> Json:
        """The answer of `/debug-files`."""
        return self._ask("GET", "/debug-files", [("sha256", digest.hex()) for digest in sha256s])

    def upload(self, file: LocalFile, *, sent: Sent) -> Json:
        """Post a file, compressed in transit. Raises `UnusableFile` if it cannot be read."""
        query = [("name", file.name)]
        return self._post("/symbols", query, lambda: file.path.open("rb"), "application/octet-stream", sent)

    def upload_sources(self, key: str, archive: Path, *, sent: Sent) -> Json:
        """Post an archive of sources. Raises `UnusableFile` if it cannot be read."""
        return self._post("/sources", [("key", key)], lambda: archive.open("rb"), MEDIA_TYPE, sent)

    def listing(self, query: Mapping[str, str]) -> Json:
        """The answer of `/symbols`."""
        return self._ask("GET", "/symbols", list(query.items()))

    def show(self, key: str) -> Json:
        """The answer of `/symbols/KEY`."""
        return self._ask("GET", f"/symbols/{quote(key, safe='')}")

    def remove(self, key: str, sha256: bytes) -> Json:
        """Delete one file."""
        return self._ask("DELETE", f"/symbols/{quote(key, safe='')}/{sha256.hex()}")

    def reprocessings(self) -> Json:
        """The answer of `/reprocessings`."""
        return self._ask("GET", "/reprocessings")

    def close(self) -> None:
        """Does nothing: no connection stays open."""

    def _post(
        self,
        route: str,
        query: Sequence[tuple[str, str]],
        opened: Callable[[], IO[bytes]],
        kind: str,
        sent: Sent,
    ) -> Json:
        def body() -> Iterator[bytes]:
            with _read(opened) as file:
                yield from _packed(file, sent)

        headers = {"Content-Type": kind, "Content-Encoding": "zstd"}
        return self._ask("POST", route, query, body, headers)

    def _ask(
        self,
        method: str,
        route: str,
        query: Sequence[tuple[str, str]] = (),
        body: Callable[[], Iterator[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """The answer, with retries of temporary failures. Raises ApiRefused."""
        target = f"{self._root}{route}" + (f"?{urlencode(query)}" if query else "")
        for attempt in range(1, _TRIES + 1):
            pause = min(0.5 * 2**attempt, _LONGEST_PAUSE_S)
            try:
                reply = self._once(method, target, body and body(), {**self._headers, **(headers or {})})
            except (OSError, http.client.HTTPException) as error:
                if attempt == _TRIES or isinstance(error, ssl.SSLError):
                    raise ApiRefused(
                        f"The API at {self._url} does not respond: {_words(error)}", 0
                    ) from error
            else:
                if reply.status < http.client.BAD_REQUEST:
                    return _document(reply.body, self._url)
                if reply.status not in _PASSING or attempt == _TRIES:
                    raise _refused(reply, self._url)
                if reply.retry_after.isdecimal():
                    pause = min(float(reply.retry_after), _LONGEST_PAUSE_S)
            time.sleep(pause)
        raise AssertionError

    def _once(
        self, method: str, target: str, body: Iterator[bytes] | None, headers: Mapping[str, str]
    ) -> _Reply:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = make(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            try:
                connection.request(method, target, body, dict(headers), encode_chunked=body is not None)
            except (BrokenPipeError, ConnectionResetError):
                # A server that refuses a body early answers and reads no further.
                if body is None or connection.sock is None:
                    raise
            response = connection.getresponse()
            return _Reply(
                response.status, response.headers.get("Retry-After", ""), response.read(_LARGEST_ANSWER)
            )
        finally:
            connection.close()


def _read(step: Callable[[], _T]) -> _T:
    """The step's result. Raises `UnusableFile` for an OSError, which elsewhere here means a failure of the API."""
    try:
        return step()
    except OSError as error:
        raise UnusableFile(f"Cannot read the file: {error.strerror or error}.") from error


def _packed(file: IO[bytes], sent: Sent) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=_LEVEL).compressobj()
    count = 0
    while part := _read(lambda: file.read(_AT_ONCE)):
        count += len(part)
        if packed := packer.compress(part):
            yield packed
        sent(count)
    yield packer.flush()


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _document(body: bytes, url: str) -> Json:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ApiRefused(f"The server at {url} is not a fleetprof API: check --url or FLEETPROF_URL.", 0)
    return document


def _refused(reply: _Reply, url: str) -> ApiRefused:
    try:
        document = json.loads(reply.body)
        detail, hint = str(document["detail"]), str(document.get("hint", ""))
    except (ValueError, KeyError, TypeError):
        detail, hint = f"The server at {url} responded with HTTP status {reply.status}.", ""
    if reply.status == http.client.UNAUTHORIZED:
        hint = "Set FLEETPROF_TOKEN to an API token of the role operator."
    return ApiRefused(f"{detail} {hint}".strip(), reply.status)


def _words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text.rstrip('.')}."
