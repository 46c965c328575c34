"""Socket activation: the waiting process holds the public sockets and forks the gRPC server for the first call.

An idle gRPC server in Python costs 0.4–0.7 ms of CPU a second, more than all captures of a day; a process in poll(2)
costs nothing. gRPC for Python cannot take over a socket, so bytes are relayed between the client and the server's
own socket; a capture is some 30 KB. TLS passes through unchanged, after a complete handshake message. The server is
a fork: it shares this process's memory and is up in a third of a second. It ends after a time without any byte.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from typing import TYPE_CHECKING, Final

from gateway.serving.connections import Connections
from gateway.serving.daemon_metrics import DaemonState, daemon_metrics, render_metrics
from gateway.serving.metrics_server import MetricsServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateway.serving.connections import Listener

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
# A server still running this long after SIGTERM is killed.
_KILL_AFTER_S: Final = 10.0
_PIPE_BYTES: Final = 4096
# SOMAXCONN and systemd's default: a longer queue has filled up meanwhile.
_LONGEST_BACKLOG: Final = 4096
# How long a client may take to receive the last bytes of an ended server, in general and at the daemon's exit: the
# latter and _KILL_AFTER_S together are less than the unit's TimeoutStopSec.
_DRAIN_TIMEOUT_S: Final = 30.0
_DRAIN_TIMEOUT_AT_EXIT_S: Final = 2.0

_log: Final = logging.getLogger("gateway.socket_activation")


class SocketActivator:
    """Accepts connections and runs the server while they need one.

    `serve` runs in a forked child and gets a pipe to write to: an empty line when ready, then the peer's name for
    each permitted call. The child is stopped when no byte has moved for `idle_s`, unless `busy` returns true; with
    `exit_when_idle`, `run` then returns too. `prepare` is called before each fork; its OSError is a failed start.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        serve: Callable[[int], int],
        *,
        idle_s: float,
        busy: Callable[[], bool],
        on_ready: Callable[[], None],
        prepare: Callable[[], None] = lambda: None,
        exit_when_idle: bool = False,
        metrics_socket: socket.socket | None = None,
        extra_metrics: Callable[[], Mapping[str, tuple[str, str, float]]] = dict,
    ) -> None:
        """`metrics_socket` serves probes and scrapes; `extra_metrics` returns metrics besides those of this class."""
        self._extra_metrics = extra_metrics
        self._starts = self._deaths = 0
        self._failed = False
        self._metrics_server = metrics_socket and MetricsServer(
            metrics_socket,
            {
                "/healthz": lambda: (True, "alive\n"),
                "/readyz": lambda: (
                    self._ready_to_serve,
                    "ready\n" if self._ready_to_serve else "the server does not start\n",
                ),
                "/metrics": lambda: (True, self._metrics()),
            },
        )
        self._listeners = listeners
        self._serve = serve
        self._idle_s = idle_s
        self._busy = busy
        self._exit_when_idle = exit_when_idle
        self._on_ready = on_ready
        self._prepare = prepare
        self._selector = selectors.DefaultSelector()
        self._connections = Connections(
            self._selector, on_handshake=self._on_handshake, on_bytes=self._note_bytes
        )
        self._accepting = False
        self._server = 0
        self._server_pipe = -1
        self._server_bytes = b""
        self._up = False
        self._was_up = False
        self._last_bytes = time.monotonic()
        self._stop_requested = 0.0
        self._stopping = False
        self._exiting = False
        self._status: int | None = None

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; returns the exit status.

        The server is started once at the beginning, so that an error at its start is reported at once.
        """
        waker, woken = socket.socketpair()
        waker.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        wakeup = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(woken, selectors.EVENT_READ, lambda _: self._on_signal(woken))
        for listener in self._listeners:
            # A client may disconnect between poll and accept; a blocking accept would wait for the next one.
            listener.public.setblocking(False)
        if self._metrics_server:
            self._metrics_server.register(self._selector)
        try:
            self._start()
            while self._status is None:
                for key, mask in self._selector.select(self._timeout()):
                    key.data(mask)
                self._check_deadlines()
                self._update_accepting()
            return self._status
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._kill()
            self._connections.close()
            self._close_server_pipe()
            self._selector.close()
            waker.close()
            woken.close()

    def _on_signal(self, woken: socket.socket) -> None:
        for number in woken.recv(64):
            if number == signal.SIGCHLD:
                self._reap()
            else:
                self._stop()

    def _start(self) -> None:
        self._exiting = False
        try:
            self._prepare()
        except OSError as error:
            _log.error("server cannot start", extra={"fields": {"why": str(error)}})
            self._fail(1)
            return
        reading, writing = os.pipe()
        self._starts += 1
        self._server = os.fork()
        if not self._server:
            status = 1
            try:
                os.close(reading)
                self._selector.close()
                for listener in self._listeners:
                    listener.public.close()
                self._connections.close_in_child()
                if self._metrics_server:
                    self._metrics_server.close_in_child()
                signal.set_wakeup_fd(-1)
                for number in _SIGNALS:
                    signal.signal(number, signal.SIG_DFL)
                status = self._serve(writing)
            except Exception:  # noqa: BLE001 - a forked child must not go on as if it were the daemon
                _log.exception("server broke")
            finally:
                logging.shutdown()
                os._exit(status)
        os.close(writing)
        os.set_blocking(reading, False)
        self._server_pipe, self._server_bytes = reading, b""
        self._selector.register(reading, selectors.EVENT_READ, lambda _: self._read_server())

    def _read_server(self) -> None:
        try:
            received = os.read(self._server_pipe, _PIPE_BYTES) if self._server_pipe >= 0 else b""
        except BlockingIOError:
            return
        if not received:
            self._close_server_pipe()  # SIGCHLD reports its exit status
            return
        *lines, rest = (self._server_bytes + received).split(b"\n")
        self._server_bytes = rest[
            -_PIPE_BYTES:
        ]  # a name has a few bytes; a broken server's line may be endless
        for line in lines:
            if line:
                self._connections.mark_permitted(line.decode("utf-8", "replace"))
            else:
                self._note_ready()

    def _close_server_pipe(self) -> None:
        if self._server_pipe >= 0:
            self._selector.unregister(self._server_pipe)
            os.close(self._server_pipe)
            self._server_pipe = -1

    def _note_ready(self) -> None:
        self._up, self._failed = True, False
        self._last_bytes = time.monotonic()
        if not self._was_up:
            self._was_up = True
            self._on_ready()
        if self._stopping:
            self._end_server()
        else:
            self._connections.connect_complete()

    def _reap(self) -> None:
        if not self._server:
            return
        pid, status = os.waitpid(self._server, os.WNOHANG)
        if not pid:
            return
        code = os.waitstatus_to_exitcode(status)
        # A server that ends by itself with status 0 has grown too large: the next call starts another.
        expected = self._stop_requested > 0 or code == 0
        self._server, self._up, self._stop_requested = 0, False, 0.0
        self._close_server_pipe()
        self._connections.finish()
        if self._stopping:
            self._exiting = True
        elif expected and self._was_up:
            # A client that connects later waits in the backlog of the service manager's socket.
            self._exiting = self._exit_when_idle
            if self._connections.is_complete:
                self._start()
        else:
            if self._was_up:
                _log.error("server died", extra={"fields": {"status": code}})
            self._fail(code if code > 0 else 1)

    def _fail(self, status: int) -> None:
        """Close the waiting connections: no server came up, or it died. Clients see a failure, not a hang.

        A connection left in the queue of a service manager's socket would start the service again at once.
        """
        self._deaths += 1
        self._failed = True
        close_queued(
            [listener.public for listener in self._listeners], already=self._connections.close_queued()
        )
        if not self._was_up:
            self._status = status

    def _update_accepting(self) -> None:
        """Accept connections once a server has been up, while verified clients have room."""
        wanted = self._was_up and not self._stopping and self._connections.has_room
        if wanted == self._accepting:
            return
        self._accepting = wanted
        for listener in self._listeners:
            if wanted:
                self._selector.register(
                    listener.public,
                    selectors.EVENT_READ,
                    lambda _, listener=listener: self._connections.accept(listener),
                )
            else:
                self._selector.unregister(listener.public)

    def _on_handshake(self) -> None:
        if self._up:
            self._connections.connect_complete()
        elif not self._server and not self._stopping:
            self._start()

    def _note_bytes(self) -> None:
        self._last_bytes = time.monotonic()

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._connections.close_queued()
        if self._server:
            self._end_server()
        else:
            self._exiting = True

    def _end_server(self) -> None:
        self._stop_requested = time.monotonic()
        self._up = False
        os.kill(self._server, signal.SIGTERM)

    def _kill(self) -> None:
        if self._server:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server, signal.SIGKILL)
            os.waitpid(self._server, 0)
            self._server = 0

    @property
    def _ready_to_serve(self) -> bool:
        """Whether the last server came up and did not die; none needs to run now."""
        return self._was_up and not self._failed and not self._stopping

    def _metrics(self) -> str:
        state = DaemonState(
            self._server, self._ready_to_serve, self._up, self._starts, self._deaths, len(self._connections)
        )
        return render_metrics({**daemon_metrics(state), **self._extra_metrics()})

    def _timeout(self) -> float | None:
        until = self._connections.due(self._drain_timeout_s)
        if self._stop_requested:
            until.append(self._stop_requested + _KILL_AFTER_S)
        elif self._up:
            until.append(self._last_bytes + self._idle_s)
        return max(0.0, min(until) - time.monotonic()) if until else None

    @property
    def _drain_timeout_s(self) -> float:
        return _DRAIN_TIMEOUT_AT_EXIT_S if self._stopping else _DRAIN_TIMEOUT_S

    def _check_deadlines(self) -> None:
        now = time.monotonic()
        self._connections.check_deadlines(now, self._drain_timeout_s)
        if self._exiting and not self._connections:
            self._status = 0
        if self._stop_requested:
            if now - self._stop_requested >= _KILL_AFTER_S and self._server:
                os.kill(self._server, signal.SIGKILL)
                self._stop_requested = now
        elif self._up and now - self._last_bytes >= self._idle_s:
            if self._busy():
                self._last_bytes = now
            else:
                self._end_server()


def close_queued(sockets: Sequence[socket.socket], *, already: int = 0) -> None:
    """Close the connections in the backlogs of these sockets; `already` counts those closed before."""
    callers = already
    for listening in sockets:
        listening.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(_LONGEST_BACKLOG):
                listening.accept()[0].close()
                callers += 1
    if callers:
        _log.warning("connections closed without service", extra={"fields": {"connections": callers}})
