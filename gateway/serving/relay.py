"""Copies bytes between a client's connection and the server's, in both directions, with bounded buffers."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BUFFER_BYTES: Final = 256 << 10


class _Way:
    """One direction: bytes read from `source` and not yet written to `sink`."""

    __slots__ = ("broken", "ended", "pending", "sink", "source")

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.pending = bytearray()
        self.ended = False
        self.broken = False
        """The sink accepts no more bytes."""

    def read(self) -> int:
        try:
            data = self.source.recv(_BUFFER_BYTES)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        self.ended = self.ended or not data
        self.pending += data
        return len(data)

    def write(self) -> None:
        if self.pending:
            try:
                del self.pending[: self.sink.send(self.pending)]
            except BlockingIOError:
                return
            except OSError:
                self.pending.clear()
                self.ended = self.broken = True

    @property
    def finished(self) -> bool:
        return self.ended and not self.pending


class Relay:
    """Joins two connected sockets until either side ends; registers itself with the selector.

    When the server's side ends, the relay still delivers all its bytes and keeps the client's connection until the
    client closes it. Closing a socket with unread bytes resets it and loses bytes in flight (tcp(7)).
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        caller: socket.socket,
        server: socket.socket,
        on_bytes: Callable[[], None],
        on_end: Callable[[Relay], None],
        *,
        received: bytes = b"",
    ) -> None:
        """`on_bytes` is called on every transfer, `on_end` at the end, after which both sockets are closed.

        `received` holds the bytes already read from the client.
        """
        self._selector = selector
        self._sockets = (caller, server)
        self._ways = (_Way(caller, server), _Way(server, caller))
        self._ways[0].pending += received
        self._on_bytes = on_bytes
        self._on_end = on_end
        self._open = True
        self.draining_since: float | None = None
        """CLOCK_MONOTONIC seconds at which the server's side ended; None while it is open or if the client ended."""
        self._waited = [0, 0]
        for connection in self._sockets:
            connection.setblocking(False)
        self._wait()

    def close(self) -> None:
        """Close both connections; may be called twice."""
        if not self._open:
            return
        self._open = False
        for connection, waited in zip(self._sockets, self._waited, strict=True):
            if waited:
                self._selector.unregister(connection)
            connection.close()
        self._on_end(self)

    def close_in_child(self) -> None:
        """Close the descriptors only: for a forked child; the connections and the selector belong to the parent."""
        for connection in self._sockets:
            connection.close()

    def finish(self) -> None:
        """Deliver the ended server's remaining bytes until the client closes its connection."""
        if not self._open or self.draining_since is not None:
            return
        self.draining_since = time.monotonic()
        out, back = self._ways
        while back.read():
            back.write()
        back.ended = True
        if out.broken:
            out.ended = False  # the server stopped reading; the client may still be open
        self._serve(0)

    def _serve(self, _: int) -> None:
        if not self._open:
            return
        if self.draining_since is not None:
            self._drain()
            return
        for way in self._ways:
            if not way.ended and len(way.pending) < _BUFFER_BYTES and way.read():
                self._on_bytes()
            way.write()
        out, back = self._ways
        if back.broken or (out.finished and not out.broken):
            self.close()
        elif back.finished or out.broken:
            self.finish()
        else:
            self._wait()

    def _drain(self) -> None:
        """Deliver the remaining bytes, then shut down writing; bytes from the client are discarded."""
        out, back = self._ways
        out.pending.clear()
        if not out.ended:
            out.read()
            out.pending.clear()
        back.write()
        if back.broken or (out.ended and not back.pending):
            self.close()
            return
        if not back.pending:
            with contextlib.suppress(OSError):
                back.sink.shutdown(socket.SHUT_WR)
        self._wait()

    def _wait(self) -> None:
        """Register for the events that allow progress.

        A side that has ended, or whose bytes the other side does not accept, is always readable: waiting for it
        would be a busy loop.
        """
        for side, (out, back) in enumerate((self._ways, self._ways[::-1])):
            connection, waited, wanted = self._sockets[side], self._waited[side], 0
            if not out.ended and len(out.pending) < _BUFFER_BYTES:
                wanted |= selectors.EVENT_READ
            if back.pending:
                wanted |= selectors.EVENT_WRITE
            if wanted and waited:
                self._selector.modify(connection, wanted, self._serve)
            elif wanted:
                self._selector.register(connection, wanted, self._serve)
            elif waited:
                self._selector.unregister(connection)
            self._waited[side] = wanted
