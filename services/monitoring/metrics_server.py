"""A small HTTP server on a thread of its own, for processes whose main work is something else.

    GET /healthz   200 as long as the process can respond
    GET /readyz    200, or 503 with the failing checks; the reasons only to callers of a Unix socket
    GET /metrics   Prometheus' text format

The reasons name hosts, users and databases. A loopback address does not restrict the reader: behind a proxy or sidecar
on this machine, every client of the proxy can read.

Every response closes its connection. At most `_AT_ONCE` callers are connected, and each has `_PATIENCE_S` for its
request. When all places are taken, a new caller displaces the one whose request is outstanding for longest.
"""

import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from services.errors import CannotStart
from services.monitoring.metrics_address import MetricsAddress
from services.monitoring.readiness import Readiness

_AT_ONCE = 8
_PATIENCE_S = 5.0
_LONGEST_HEAD = 16 << 10
_BREATHER_S = 0.1
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

_SEE_LOG = "The reason is in the log."
_FORWARDING = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
"""Headers of requests forwarded by a proxy (RFC 7239, RFC 9110, and older conventions)."""

_log = logging.getLogger(__name__)


class MetricsServer:
    """Serves from `start` until `close` or the end of the process."""

    def __init__(self, address: MetricsAddress, readiness: Readiness, metrics: Callable[[], bytes]) -> None:
        """Listens at once; `metrics` produces the text on a server thread. Raises CannotStart."""
        self._address = address
        self._closed = Event()
        self._server = _Server(address, readiness, metrics)
        self.address = (
            address
            if address.path is not None
            else MetricsAddress(host=address.host, port=int(self._server.socket.getsockname()[1]))
        )
        """Actual address: port 0 is replaced by the chosen port."""

    def start(self) -> None:
        """Serve on daemon threads."""
        Thread(target=self._accept_callers, name="observing", daemon=True).start()

    def close_in_child(self) -> None:
        """Close a forked child's copy of the socket; the parent keeps serving."""
        self._server.socket.close()

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        with suppress(OSError):
            self._server.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(2)
        self._server.socket.close()
        if self._address.path is not None:
            self._address.path.unlink(missing_ok=True)

    def _accept_callers(self) -> None:
        """Blocks in accept(2); serve_forever would wake up twice a second."""
        while not self._closed.is_set():
            try:
                caller, where = self._server.get_request()
            except OSError:  # closed, or out of descriptors
                self._closed.wait(_BREATHER_S)
                continue
            self._server.process_request(caller, where)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: MetricsAddress, readiness: Readiness, metrics: Callable[[], bytes]) -> None:
        self.readiness = readiness
        self.metrics = metrics
        self._lock = Lock()
        self._callers: dict[socket.socket, bool] = {}
        """Whether the request has arrived, by connection, oldest first."""
        where: Any = (address.host, address.port)
        if address.path is not None:
            self.address_family = socket.AF_UNIX
            where = str(address.path)
            _make_way(address.path)
        elif ":" in address.host:
            self.address_family = socket.AF_INET6
        before = os.umask(0o177)  # only its user can open the socket from the start
        try:
            super().__init__(where, _Handler)
        except OSError as error:
            raise CannotStart(
                f"Cannot serve metrics and health checks at {address}: {error.strerror or error}."
            ) from error
        finally:
            os.umask(before)

    def server_bind(self) -> None:
        """Bind without HTTPServer's reverse look-up, which may take seconds."""
        if self.address_family != socket.AF_UNIX:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "", 0

    def process_request(self, request: Any, client_address: Any) -> None:
        """Accept a caller if a place is free or can be freed."""
        with self._lock:
            if len(self._callers) >= _AT_ONCE and not self._displace():
                self.shutdown_request(request)
                return
            self._callers[request] = False
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a caller to the end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._callers.pop(request, None)

    def request_arrived(self, caller: socket.socket) -> None:
        """Keep the place of a caller whose request has arrived. Raises ConnectionAbortedError if it was displaced."""
        with self._lock:
            if caller not in self._callers:
                raise ConnectionAbortedError
            self._callers[caller] = True

    def _displace(self) -> bool:
        """Disconnect the caller whose request is outstanding for longest; False if there is none."""
        silent = next((caller for caller, come in self._callers.items() if not come), None)
        if silent is None:
            return False
        del self._callers[silent]
        with suppress(OSError):  # already disconnected
            silent.shutdown(socket.SHUT_RDWR)  # its thread reads end of file
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - BaseServer's signature
        """Log an internal error; a disconnected caller is none."""
        if not isinstance(sys.exception(), OSError):
            _log.error("a request could not be served", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "fleetprof"
    sys_version = ""

    def handle(self) -> None:
        """Read the whole head within one time limit, and respond."""
        head = _head_from(self.connection)
        self.server.request_arrived(self.connection)
        self.connection.settimeout(_PATIENCE_S)
        self.rfile = BytesIO(head)
        super().handle()

    def do_GET(self) -> None:
        """Serve one of the three routes."""
        path = self.path.partition("?")[0]
        if path == "/healthz":
            self._answer(HTTPStatus.OK, {"status": "alive"})
        elif path == "/readyz":
            failing = self.server.readiness.failing()
            status = HTTPStatus.SERVICE_UNAVAILABLE if failing else HTTPStatus.OK
            document: dict[str, object] = {"status": "not ready" if failing else "ready", "failing": failing}
            if not self._is_own_user():
                document["failing"] = dict.fromkeys(failing, _SEE_LOG)
            self._answer(status, document)
        elif path == "/metrics":
            self._send(HTTPStatus.OK, self.server.metrics(), _PROMETHEUS)
        else:
            self._answer(
                HTTPStatus.NOT_FOUND,
                {"status": "unknown path; this server has /healthz, /readyz and /metrics"},
            )

    def _is_own_user(self) -> bool:
        """Whether the caller uses the Unix socket, open to this user and root only, and is no proxy."""
        over_unix = self.connection.family == socket.AF_UNIX
        return over_unix and not any(name in self.headers for name in _FORWARDING)

    def do_HEAD(self) -> None:
        """Respond without the body."""
        self.do_GET()

    def _answer(self, status: HTTPStatus, document: dict[str, object]) -> None:
        self._send(status, (json.dumps(document) + "\n").encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def address_string(self) -> str:
        """Address for the log; a Unix socket's caller has none."""
        return str(self.client_address[0]) if self.client_address else "unix"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Log nothing: probes come every few seconds."""


def _head_from(caller: socket.socket) -> bytes:
    """Bytes up to an empty line or the end of the stream. Raises TimeoutError after `_PATIENCE_S`."""
    until = time.monotonic() + _PATIENCE_S
    head = b""
    while b"\r\n\r\n" not in head and b"\n\n" not in head and len(head) < _LONGEST_HEAD:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        caller.settimeout(left)
        piece = caller.recv(_LONGEST_HEAD)
        if not piece:
            break
        head += piece
    return head


def _make_way(path: Path) -> None:
    """Remove the socket of a killed process. Raises CannotStart if a process listens on it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) == 0:
            raise CannotStart(f"Another process listens on {path}: stop it, or use another address.")
    path.unlink(missing_ok=True)
