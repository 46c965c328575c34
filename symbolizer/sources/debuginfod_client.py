"""A client of debuginfod servers (debuginfod(8), "WEBAPI"): GET URL/buildid/ID/{executable,debuginfo,source/PATH}.

Servers are not trusted: the size is limited during the download, the time as a whole, and redirections must
stay on the same server. The caller verifies the downloaded file. Failures are values. A server that does not
respond gets no request for a while: else every binary of a capture would wait for it.
"""

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_AGENT: Final = "fleetprof"
DEFAULT_BYTES: Final = 4 << 30
_AT_ONCE: Final = 1 << 18
_MAX_DIGITS: Final = 18
_PORTS: Final = {"http": http.client.HTTP_PORT, "https": http.client.HTTPS_PORT}


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """Limits of one download."""

    bytes: int = DEFAULT_BYTES
    answer_s: float = 10.0
    """Time until a server responds, and between any two of its bytes."""
    seconds: float = 900.0
    """Time for the whole download: 4 GiB at 5 MB/s."""
    retry_s: float = 60.0
    """Time until the next request to a server that did not respond."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The file was written."""

    url: str


@dataclass(frozen=True, slots=True)
class NotFetched:
    """Why no file was written, as a sentence."""

    reason: str
    lifetime_s: float
    """Seconds for which the failure is cached: long if the server lacks the file, short if it failed; 0: not at all."""


ABSENT_S: Final = 3600.0
FAILED_S: Final = 300.0
REFUSED_S: Final = 86400.0


_BROKEN: Final = (OSError, http.client.HTTPException, ValueError)
"""Errors of a network, or of a server that is no HTTP server; ValueError: from the URL of a redirection."""


class SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirections only within a server: another server may be reachable only from this machine.

    An example is a cloud's metadata at http://169.254.169.254/; a downloaded source is shown to readers unchanged.
    """

    max_redirections = 5

    def redirect_request(  # noqa: PLR0917 - as in the standard library
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The next request. Raises HTTPError if it is for another server."""
        if not is_same_server(req.full_url, newurl):
            raise urllib.error.HTTPError(newurl, code, "redirects to another server", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def is_same_server(url: str, other: str) -> bool:
    """Whether two URLs have the same scheme, host and port. Raises ValueError for an invalid URL."""
    return _server_of(url) == _server_of(other)


def _server_of(url: str) -> tuple[str, str | None, int | None]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


class DebuginfodClient:
    """A client of one server. For one process; threads may share it."""

    def __init__(
        self,
        server: str,
        *,
        limits: DownloadLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`server` is the URL before `/buildid`. Raises ValueError if it is not a URL of HTTP."""
        parts = urllib.parse.urlsplit(server)
        if parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.query:
            raise ValueError(
                f"Invalid URL of a debuginfod server {server}: expected e.g. https://debuginfod.example.org"
            )
        self.server = server.rstrip("/")
        self._limits = limits or DownloadLimits()
        self._clock = clock
        self._opener = urllib.request.build_opener(SameServer())
        self._silent_until = 0.0

    def url(self, build_id: bytes, what: str) -> str:
        """URL of `what` of a build: executable, debuginfo, or `source` followed by an absolute path."""
        return f"{self.server}/buildid/{build_id.hex()}/{urllib.parse.quote(what)}"

    def fetch(
        self, build_id: bytes, what: str, target: Path, *, limit: int | None = None
    ) -> Fetched | NotFetched:
        """Download the file to `target`, which exists. Raises OSError only for the target."""
        if self._clock() < self._silent_until:
            return NotFetched(f"{self.server} did not respond to a recent request.", 0.0)
        url = self.url(build_id, what)
        most = self._limits.bytes if limit is None else min(limit, self._limits.bytes)
        try:
            request = urllib.request.Request(  # noqa: S310 - the scheme was checked
                url, headers={"User-Agent": _AGENT, "Accept-Encoding": "identity"}
            )
            answer = self._opener.open(request, timeout=self._limits.answer_s)
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except _BROKEN as error:
            return self._silent(error)
        with answer, target.open("wb") as file:
            return self._copy(url, answer, file, most)

    def _copy(
        self, url: str, answer: http.client.HTTPResponse, file: IO[bytes], most: int
    ) -> Fetched | NotFetched:
        deadline = self._clock() + self._limits.seconds
        wanted = _announced(answer)
        size = 0
        while wanted is None or wanted <= most:
            try:
                part = answer.read1(_AT_ONCE)
            except _BROKEN as error:
                return self._silent(error)
            if not part:
                if wanted is not None and size < wanted:
                    return NotFetched(f"{url} was cut off after {size} of {wanted} bytes.", FAILED_S)
                return Fetched(url)
            size += len(part)
            if size > most:
                break
            if self._clock() > deadline:
                return NotFetched(
                    f"The download of {url} did not finish within {self._limits.seconds:.0f} s; "
                    f"{size} bytes arrived.",
                    FAILED_S,
                )
            file.write(part)
        return NotFetched(f"{url} has more than {most} bytes, the limit.", REFUSED_S)

    def _silent(self, error: Exception) -> NotFetched:
        self._silent_until = self._clock() + self._limits.retry_s
        why = str(getattr(error, "reason", None) or error) or type(error).__name__
        return NotFetched(f"{self.server} does not respond: {why}.", 0.0)

    def _refused(self, error: urllib.error.HTTPError) -> NotFetched:
        if error.code == http.HTTPStatus.NOT_FOUND:
            return NotFetched(f"{self.server} does not have it.", ABSENT_S)
        return NotFetched(f"{self.server} responds with {error.code} {error.reason}.", FAILED_S)


def _announced(answer: http.client.HTTPResponse) -> int | None:
    """Size that the server announces in bytes; None: it announces none."""
    stated = answer.headers.get("Content-Length") or ""
    return int(stated) if stated.isdecimal() and len(stated) <= _MAX_DIGITS else None


def clients(servers: Sequence[str], limits: DownloadLimits | None = None) -> tuple[DebuginfodClient, ...]:
    """A client of each server. Raises ValueError for an invalid URL."""
    return tuple(DebuginfodClient(server, limits=limits) for server in servers)
