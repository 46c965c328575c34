"""The process that waits: it holds the public sockets and starts the gRPC server when somebody calls.

An idle gRPC server in Python costs 0.4–0.7 ms of CPU each second, more than all captures of a day; a process
in poll(2) costs nothing. gRPC for Python cannot take over a socket, so bytes are relayed between the caller
and the server's own socket; a capture is some 30 KB. TLS passes through untouched, once a whole greeting has come. The
server is a fork, so it shares this process's memory and is up in a third of a second; it ends when no byte has moved
for a while.
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

from gateway.serving.callers import Callers
from gateway.serving.observing import Observing, cpu_seconds, exposition, resident_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateway.serving.callers import Door

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
# A server that does not end by itself after SIGTERM is killed after this long.
_PATIENCE_S: Final = 10.0
_HEARD_BYTES: Final = 4096
# SOMAXCONN, systemd's choice: more than this have come meanwhile.
_LONGEST_BACKLOG: Final = 4096
# How long a caller may take to receive what a server sent before it ended, and when the daemon itself is to end:
# with _PATIENCE_S that is less than the unit's TimeoutStopSec.
_DRAINED_IN_S: Final = 30.0
_DRAINED_AT_LAST_IN_S: Final = 2.0

_log: Final = logging.getLogger("gateway.doorman")


class Doorman:
    """Waits at the doors.

    `serve` is called in a forked child with a descriptor to write to: an empty line when ready, then for each call
    that it permits a line with what gRPC calls the caller. The child is ended when no byte has moved for `idle_s`,
    unless `busy` says that it works; with `exit_when_idle` `run` then ends too.
    `prepare` is called before each fork; an OSError of it is a failed start.
    """

    def __init__(
        self,
        doors: Sequence[Door],
        serve: Callable[[int], int],
        *,
        idle_s: float,
        busy: Callable[[], bool],
        on_ready: Callable[[], None],
        prepare: Callable[[], None] = lambda: None,
        exit_when_idle: bool = False,
        observed: socket.socket | None = None,
        figures: Callable[[], Mapping[str, tuple[str, str, float]]] = dict,
    ) -> None:
        """`observed` is where probes and scrapes come; `figures` what metrics say besides the doorman's own."""
        self._figures = figures
        self._starts = self._deaths = 0
        self._ill = False
        self._observing = observed and Observing(
            observed,
            {
                "/healthz": lambda: (True, "alive\n"),
                "/readyz": lambda: (
                    self._ready_to_serve,
                    "ready\n" if self._ready_to_serve else "the server part does not come up\n",
                ),
                "/metrics": lambda: (True, self._metrics()),
            },
        )
        self._doors = doors
        self._serve = serve
        self._idle_s = idle_s
        self._busy = busy
        self._exit_when_idle = exit_when_idle
        self._on_ready = on_ready
        self._prepare = prepare
        self._selector = selectors.DefaultSelector()
        self._callers = Callers(self._selector, on_greeting=self._greet, on_bytes=self._note_bytes)
        self._doors_open = False
        self._server = 0
        self._told = -1
        self._heard = b""
        self._up = False
        self._was_up = False
        self._last_bytes = time.monotonic()
        self._told_to_end = 0.0
        self._stopping = False
        self._leaving = False
        self._status: int | None = None

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status.

        The server is started once at the beginning, so that whatever keeps it from working is said at once.
        """
        waker, woken = socket.socketpair()
        waker.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        wakeup = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(woken, selectors.EVENT_READ, lambda _: self._hear(woken))
        for door in self._doors:
            # A caller may hang up between poll and accept, which would then wait for the next one.
            door.public.setblocking(False)
        if self._observing:
            self._observing.attend(self._selector)
        try:
            self._start()
            while self._status is None:
                for key, mask in self._selector.select(self._timeout()):
                    key.data(mask)
                self._mind_time()
                self._mind_doors()
            return self._status
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._kill()
            self._callers.close()
            self._stop_hearing()
            self._selector.close()
            waker.close()
            woken.close()

    def _hear(self, woken: socket.socket) -> None:
        for number in woken.recv(64):
            if number == signal.SIGCHLD:
                self._reap()
            else:
                self._stop()

    def _start(self) -> None:
        self._leaving = False
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
                for door in self._doors:
                    door.public.close()
                self._callers.let_go()
                if self._observing:
                    self._observing.let_go()
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
        self._told, self._heard = reading, b""
        self._selector.register(reading, selectors.EVENT_READ, lambda _: self._hear_server())

    def _hear_server(self) -> None:
        try:
            heard = os.read(self._told, _HEARD_BYTES) if self._told >= 0 else b""
        except BlockingIOError:
            return
        if not heard:
            self._stop_hearing()  # SIGCHLD tells how it ended
            return
        *lines, rest = (self._heard + heard).split(b"\n")
        self._heard = rest[-_HEARD_BYTES:]  # a name has a few bytes; a broken server's line may have no end
        for line in lines:
            if line:
                self._callers.note_permitted(line.decode("utf-8", "replace"))
            else:
                self._note_ready()

    def _stop_hearing(self) -> None:
        if self._told >= 0:
            self._selector.unregister(self._told)
            os.close(self._told)
            self._told = -1

    def _note_ready(self) -> None:
        self._up, self._ill = True, False
        self._last_bytes = time.monotonic()
        if not self._was_up:
            self._was_up = True
            self._on_ready()
        if self._stopping:
            self._end_server()
        else:
            self._callers.let_in()

    def _reap(self) -> None:
        if not self._server:
            return
        pid, status = os.waitpid(self._server, os.WNOHANG)
        if not pid:
            return
        code = os.waitstatus_to_exitcode(status)
        # Untold it ends well when it has grown too large: the next call gets another.
        expected = self._told_to_end > 0 or code == 0
        self._server, self._up, self._told_to_end = 0, False, 0.0
        self._stop_hearing()
        self._callers.finish()
        if self._stopping:
            self._leaving = True
        elif expected and self._was_up:
            # Who calls after the end waits in the backlog of a socket that the service manager holds.
            self._leaving = self._exit_when_idle
            if self._callers.has_greeted:
                self._start()
        else:
            if self._was_up:
                _log.error("server died", extra={"fields": {"status": code}})
            self._fail(code if code > 0 else 1)

    def _fail(self, status: int) -> None:
        """No server came up, or it died: whoever waits for it sees a failure and not a hang.

        Who is left waiting in a socket that a service manager holds would have it start the service again at once.
        """
        self._deaths += 1
        self._ill = True
        turn_away([door.public for door in self._doors], already=self._callers.turn_away())
        if not self._was_up:
            self._status = status

    def _mind_doors(self) -> None:
        """Take callers in once a server was up, while there is room for those that may call."""
        wanted = self._was_up and not self._stopping and self._callers.has_room
        if wanted == self._doors_open:
            return
        self._doors_open = wanted
        for door in self._doors:
            if wanted:
                self._selector.register(
                    door.public, selectors.EVENT_READ, lambda _, door=door: self._callers.accept(door)
                )
            else:
                self._selector.unregister(door.public)

    def _greet(self) -> None:
        if self._up:
            self._callers.let_in()
        elif not self._server and not self._stopping:
            self._start()

    def _note_bytes(self) -> None:
        self._last_bytes = time.monotonic()

    def _stop(self) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._callers.turn_away()
        if self._server:
            self._end_server()
        else:
            self._leaving = True

    def _end_server(self) -> None:
        self._told_to_end = time.monotonic()
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
        """The last server came up and did not die; whether one runs now does not matter."""
        return self._was_up and not self._ill and not self._stopping

    def _metrics(self) -> str:
        own = os.times()
        memory = resident_bytes(os.getpid()) + (resident_bytes(self._server) if self._server else 0)
        cpu = own.user + own.system + own.children_user + own.children_system
        cpu += cpu_seconds(self._server) if self._server else 0.0
        prefix = "fleetprof_gateway"
        return exposition(
            {
                f"{prefix}_ready": (
                    "gauge",
                    "1 unless the server part died or could not start.",
                    self._ready_to_serve,
                ),
                f"{prefix}_server_running": (
                    "gauge",
                    "1 while the server part runs: it ends when idle.",
                    self._up,
                ),
                f"{prefix}_server_starts_total": (
                    "counter",
                    "Times the server part was started.",
                    self._starts,
                ),
                f"{prefix}_server_deaths_total": (
                    "counter",
                    "Times it died or could not start.",
                    self._deaths,
                ),
                f"{prefix}_callers": ("gauge", "Connections open now.", len(self._callers)),
                f"{prefix}_cpu_seconds_total": ("counter", "CPU time of both parts, captures included.", cpu),
                f"{prefix}_resident_bytes": (
                    "gauge",
                    "Resident memory of both parts, what they share counted twice.",
                    memory,
                ),
                **self._figures(),
            }
        )

    def _timeout(self) -> float | None:
        until = self._callers.due(self._drained_in_s)
        if self._told_to_end:
            until.append(self._told_to_end + _PATIENCE_S)
        elif self._up:
            until.append(self._last_bytes + self._idle_s)
        return max(0.0, min(until) - time.monotonic()) if until else None

    @property
    def _drained_in_s(self) -> float:
        return _DRAINED_AT_LAST_IN_S if self._stopping else _DRAINED_IN_S

    def _mind_time(self) -> None:
        now = time.monotonic()
        self._callers.mind_time(now, self._drained_in_s)
        if self._leaving and not self._callers:
            self._status = 0
        if self._told_to_end:
            if now - self._told_to_end >= _PATIENCE_S and self._server:
                os.kill(self._server, signal.SIGKILL)
                self._told_to_end = now
        elif self._up and now - self._last_bytes >= self._idle_s:
            if self._busy():
                self._last_bytes = now
            else:
                self._end_server()


def turn_away(sockets: Sequence[socket.socket], *, already: int = 0) -> None:
    """Hang up on whoever waits in the backlogs of these listening sockets; `already` were hung up on before."""
    callers = already
    for listening in sockets:
        listening.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(_LONGEST_BACKLOG):
                listening.accept()[0].close()
                callers += 1
    if callers:
        _log.warning("callers turned away", extra={"fields": {"callers": callers}})
