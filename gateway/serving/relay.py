"""Bytes between a caller's connection and the server's, both ways, with bounded buffers."""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BUFFER_BYTES: Final = 256 << 10


class _Way:
    """One direction: what was read from `source` and not yet taken by `sink`."""

    __slots__ = ("ended", "pending", "sink", "source")

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.pending = bytearray()
        self.ended = False

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
                self.ended = True

    @property
    def finished(self) -> bool:
        return self.ended and not self.pending


class Relay:
    """Joins two connected sockets until either side ends; registers itself with the selector."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        caller: socket.socket,
        server: socket.socket,
        on_bytes: Callable[[], None],
        on_end: Callable[[Relay], None],
    ) -> None:
        """`on_bytes` hears of every transfer, `on_end` of the end; then both sockets are closed."""
        self._selector = selector
        self._sockets = (caller, server)
        self._ways = (_Way(caller, server), _Way(server, caller))
        self._on_bytes = on_bytes
        self._on_end = on_end
        self._open = True
        self._waited = [0, 0]
        for connection in self._sockets:
            connection.setblocking(False)
        self._wait()

    def close(self) -> None:
        """Drop both connections; may be called twice."""
        if not self._open:
            return
        self._open = False
        for connection, waited in zip(self._sockets, self._waited, strict=True):
            if waited:
                self._selector.unregister(connection)
            connection.close()
        self._on_end(self)

    def finish(self) -> None:
        """The server has ended: hand on what it sent last, as far as the caller takes it now, and close."""
        if self._open:
            back = self._ways[1]
            while back.read():
                back.write()
            back.write()
        self.close()

    def _serve(self, _: int) -> None:
        if not self._open:
            return
        for way in self._ways:
            if not way.ended and len(way.pending) < _BUFFER_BYTES and way.read():
                self._on_bytes()
            way.write()
        if any(way.finished for way in self._ways):
            self.close()
            return
        self._wait()

    def _wait(self) -> None:
        """Wait for what can go on.

        A side that has ended, or whose bytes the other side does not take, is ready to be read all the time:
        waiting for it would be a busy loop.
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
