"""JSON routes of a remote API over HTTP, for commands."""

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from services.errors import ApiRefused, SettingsProblem

Json = dict[str, Any]

_TIMEOUT_S: Final = 300.0
"""Of one socket operation; a server that inspects a large file sends nothing for a while."""
_TRIES: Final = 4
_LONGEST_PAUSE_S: Final = 10.0
_PASSING: Final = frozenset({429, 502, 503, 504})
_LARGEST_ANSWER: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    retry_after: str
    body: bytes


class JsonApi:
    """The routes below /api/v1 of one server. For one thread."""

    def __init__(self, url: str, token: str | None, *, needs: str) -> None:
        """`needs` describes the token that a 401 asks for.

        Raises SettingsProblem for an invalid http(s) URL, and for a token sent unencrypted to another machine.
        """
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
        self._needs = needs
        self._root = f"{parts.path.rstrip('/')}/api/v1"
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )

    def ask(
        self,
        method: str,
        route: str,
        query: Sequence[tuple[str, str]] = (),
        body: Callable[[], Iterator[bytes]] | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """The answer, with retries of temporary failures. Raises ApiRefused.

        A callable `body` is sent in chunks of unknown total length, which only routes for files accept.
        """
        target = f"{self._root}{route}" + (f"?{urlencode(query)}" if query else "")
        for attempt in range(1, _TRIES + 1):
            pause = min(0.5 * 2**attempt, _LONGEST_PAUSE_S)
            try:
                sent = body() if callable(body) else body
                reply = self._once(method, target, sent, {**self._headers, **(headers or {})})
            except (OSError, http.client.HTTPException) as error:
                if attempt == _TRIES or isinstance(error, ssl.SSLError):
                    raise ApiRefused(
                        f"The API at {self._url} does not respond: {_words(error)}", 0
                    ) from error
            else:
                if reply.status < http.client.BAD_REQUEST:
                    return _document(reply.body, self._url)
                if reply.status not in _PASSING or attempt == _TRIES:
                    raise _refused(reply, self._url, self._needs)
                if reply.retry_after.isdecimal():
                    pause = min(float(reply.retry_after), _LONGEST_PAUSE_S)
            time.sleep(pause)
        raise AssertionError

    def _once(
        self, method: str, target: str, body: Iterator[bytes] | bytes | None, headers: Mapping[str, str]
    ) -> _Reply:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = make(self._host, self._port, timeout=_TIMEOUT_S)
        try:
            try:
                connection.request(
                    method, target, body, dict(headers), encode_chunked=not isinstance(body, bytes | None)
                )
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
        raise ApiRefused(f"The server at {url} is not a fleetprof API: check the URL or FLEETPROF_URL.", 0)
    return document


def _refused(reply: _Reply, url: str, needs: str) -> ApiRefused:
    try:
        document = json.loads(reply.body)
        detail, hint = str(document["detail"]), str(document.get("hint", ""))
    except (ValueError, KeyError, TypeError):
        detail, hint = f"The server at {url} responded with HTTP status {reply.status}.", ""
    if reply.status == http.client.UNAUTHORIZED:
        hint = f"Set FLEETPROF_TOKEN to {needs}."
    return ApiRefused(f"{detail} {hint}".strip(), reply.status)


def _words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"{text.rstrip('.')}."
