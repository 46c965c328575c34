"""One log line, one id and one measurement per request, and the last handler of unexpected errors."""

import secrets
from http import HTTPStatus
from time import perf_counter

import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.api.metrics import Metrics
from services.api.problems import Problem

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Clients can send any word as the method, and each would be a time series."""
_QUIET = ("/healthz", "/readyz", "/metrics")


class RequestLog:
    """ASGI middleware; outermost, so that it sees the other middlewares' responses.

    It logs the path without the query: a login's query is a secret.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._log = structlog.get_logger("fleetprof.api")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request. An unexpected error becomes a problem document with the log line's id."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(6)
        scope.setdefault("state", {})["request_id"] = request_id
        begun = perf_counter()
        status, sent = 0, 0

        async def count(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, count)
        except Exception:  # noqa: BLE001 - no caller above would answer the client
            await self._log.aexception("request failed", request_id=request_id, path=scope["path"])
            if not status:
                problem = Problem(
                    HTTPStatus.INTERNAL_SERVER_ERROR,
                    "Internal server error.",
                    kind="mistake",
                    hint=f"Search the server's log for request {request_id}.",
                )
                await problem.response(request_id)(Request(scope).scope, receive, count)
        finally:
            seconds = perf_counter() - begun
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).observe(seconds)
            log = self._log.debug if scope["path"] in _QUIET else self._log.info
            log(
                "request",
                request_id=request_id,
                method=scope["method"],
                path=scope["path"],
                status=status,
                ms=round(seconds * 1e3, 1),
                bytes=sent,
            )
