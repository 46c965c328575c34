"""The first checks of every request, and the headers of every response.

A page of another origin can make a browser call this server under a foreign name (DNS rebinding); the Host header
reveals that. From another port of the same host it can also make a browser send a changing request with the session's
cookie; the Origin header reveals that. Bodies are refused before they are read, except on the routes that take files.
"""

import re
from collections.abc import Collection, Mapping
from http import HTTPStatus
from types import MappingProxyType

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.api.problems import Problem

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
LARGEST_BODY = 64 << 10
_NO_BODIES: Mapping[str, int] = MappingProxyType({})
_TOO_LARGE: Mapping[str, str] = MappingProxyType(
    {
        "/api/v1/symbols": "The operator sets the limit: FLEETPROF_SYMBOL_UPLOAD_BYTES.",
        "/api/v1/experiments": "Split the file into several sets.",
    }
)
"""Advice for bodies that are too large, by path."""
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_PROBES = ("/healthz", "/readyz")
"""Answered for any Host header: a prober knows only the address, and these responses reveal nothing."""
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(:\d{1,5})?")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RequestLimits:
    """ASGI middleware: refuses foreign hosts, foreign changes and bodies, and adds the security headers."""

    def __init__(
        self,
        app: ASGIApp,
        allowed_hosts: Collection[str],
        *,
        secure: bool,
        largest_bodies: Mapping[str, int] = _NO_BODIES,
    ) -> None:
        """`allowed_hosts` are names without ports; `secure`: served over TLS.

        `largest_bodies`: bytes that may be posted, by path. For a body of unknown length the reader must enforce this
        limit.
        """
        self._app = app
        self._largest = largest_bodies
        self._allowed = {host.lower() for host in (*LOOPBACK_NAMES, *allowed_hosts)}
        self._headers = dict(_HEADERS)
        if secure:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem document."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = self._refusal(scope)
        if problem is None:
            await self._app(scope, receive, send_with_headers)
        else:
            response = problem.response(Request(scope).state.request_id)
            await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        host = _HOST.fullmatch(headers.get("host", ""))
        if scope["path"] not in _PROBES and (host is None or host[1].lower() not in self._allowed):
            return Problem(
                HTTPStatus.MISDIRECTED_REQUEST,
                "Unknown name in the Host header.",
                kind="foreign-host",
                hint="If the name is correct, add it to FLEETPROF_API_ALLOWED_HOSTS.",
            )
        origin = headers.get("origin", "")
        own = ("", *(f"{scheme}://{headers.get('host')}" for scheme in ("http", "https")))
        if scope["method"] not in _READING and origin not in own:
            return Problem(
                HTTPStatus.FORBIDDEN,
                "A page of another origin sent this request. Only pages of this server may make changes.",
                kind="foreign-origin",
                hint="If there is a proxy, configure it to keep the Host header.",
            )
        return self._refusal_of_body(scope, headers)

    def _refusal_of_body(self, scope: Scope, headers: Headers) -> Problem | None:
        largest = self._largest.get(scope["path"]) if scope["method"] == "POST" else None
        length = headers.get("content-length", "0")
        is_known = length.isdecimal() and "transfer-encoding" not in headers
        if largest is None:
            if not is_known or int(length) > LARGEST_BODY:
                return Problem(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"The body has more than {LARGEST_BODY:,} bytes, or no Content-Length.",
                )
        elif is_known and int(length) > largest:
            return Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"The body has {int(length):,} bytes, more than the limit of {largest:,}.",
                kind="too-large",
                hint=_TOO_LARGE.get(scope["path"], ""),
            )
        return None
