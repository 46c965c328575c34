"""Health probes and metrics, served by the waiting process: a scrape does not start the gRPC server.

    GET /healthz   200 while the daemon runs
    GET /readyz    200, or 503 after the server died or failed to start, until it is up again
    GET /metrics   Prometheus' text format, written by hand: a client library would double this process's memory

One request a connection; only its first line is read. It shares the selector of socket_activation: no thread, no
timer. The number of connections is limited; a new one replaces the oldest.
"""

from __future__ import annotations

import contextlib
import selectors
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from socket import socket

_MAX_CONNECTIONS: Final = 8
_LONGEST_REQUEST: Final = 4096
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsServer:
    """Answers on one listening socket; `answers` maps a path to a function that returns (healthy, text)."""

    def __init__(self, listening: socket, answers: Mapping[str, Callable[[], tuple[bool, str]]]) -> None:
        self._listening = listening
        self._answers = answers
        self._selector: selectors.BaseSelector | None = None
        self._callers: dict[socket, bytearray] = {}
        listening.setblocking(False)

    def register(self, selector: selectors.BaseSelector) -> None:
        """Register with a selector, whose owner calls each key's data with the event mask."""
        self._selector = selector
        selector.register(self._listening, selectors.EVENT_READ, self._accept)

    def close_in_child(self) -> None:
        """Close the descriptors only: for a forked child; the selector belongs to the parent."""
        for each in (self._listening, *self._callers):
            each.close()

    def _accept(self, _: int) -> None:
        try:
            caller, _who = self._listening.accept()
        except OSError:
            return  # the client has disconnected
        assert self._selector is not None
        caller.setblocking(False)
        if len(self._callers) >= _MAX_CONNECTIONS:
            self._drop(next(iter(self._callers)))
        self._callers[caller] = bytearray()
        self._selector.register(caller, selectors.EVENT_READ, lambda _: self._read(caller))

    def _read(self, caller: socket) -> None:
        received = self._callers.get(caller)
        if received is None:
            return  # replaced by another connection in this round of the selector
        try:
            more = caller.recv(_LONGEST_REQUEST)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        received += more
        whole = b"\r\n\r\n" in received or b"\n\n" in received
        if more and not whole and len(received) < _LONGEST_REQUEST:
            return
        if whole:
            # A few KB fit into the empty send buffer; a client that does not take them is dropped.
            with contextlib.suppress(OSError):
                caller.sendall(self._answer(bytes(received)))
        self._drop(caller)

    def _drop(self, caller: socket) -> None:
        assert self._selector is not None
        del self._callers[caller]
        self._selector.unregister(caller)
        caller.close()

    def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        answer = self._answers.get(path)
        if method not in {"GET", "HEAD"}:
            status, text = "405 Method Not Allowed", "Only GET is supported.\n"
        elif answer is None:
            status, text = "404 Not Found", "Paths: /healthz, /readyz and /metrics.\n"
        else:
            well, text = answer()
            status = "200 OK" if well else "503 Service Unavailable"
        body = text.encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {_TEXT}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + (body if method != "HEAD" else b"")
