"""A connection before the server hears of it: what it says first is read here, and must come soon."""

from __future__ import annotations

import selectors
import socket
import time
from typing import TYPE_CHECKING, Final

from gateway.serving.client_hello import is_client_hello, is_preface

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HANDSHAKE_TIMEOUT_S: Final = 2.0
"""gRPC says hello as soon as it is connected; a second is what TCP waits before it sends a lost packet again."""
_PIECE_BYTES: Final = 16 << 10


class PendingConnection:
    """Reads until the greeting is complete and then waits to be taken; registers itself with the selector."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        caller: socket.socket,
        inner: Path,
        *,
        on_handshake: Callable[[], None],
        on_end: Callable[[PendingConnection, str], None],
    ) -> None:
        """`inner` is where the server listens for it.

        `on_handshake` hears once of a complete greeting, `on_end` once of the end and what is wrong, "" if it left;
        then the socket is closed.
        """
        self.inner = inner
        self.deadline = time.monotonic() + HANDSHAKE_TIMEOUT_S
        """CLOCK_MONOTONIC seconds at which its greeting must have come."""
        self.is_complete = False
        self._selector = selector
        self._caller = caller
        self._is_handshake = is_preface if caller.family == socket.AF_UNIX else is_client_hello
        self._on_handshake = on_handshake
        self._on_end = on_end
        self._received = bytearray()
        self._open = True
        caller.setblocking(False)
        selector.register(caller, selectors.EVENT_READ, lambda _: self._read())

    def take(self) -> tuple[socket.socket, bytes]:
        """The connection of one that has greeted, and what it said; they are the caller's own from now on."""
        self._open = False
        return self._caller, bytes(self._received)

    def close(self, why: str = "") -> None:
        """Hang up; may be called twice."""
        if not self._open:
            return
        self._open = False
        if not self.is_complete:
            self._selector.unregister(self._caller)
        self._caller.close()
        self._on_end(self, why)

    def close_in_child(self) -> None:
        """Close our descriptor and leave the connection alone: for a forked child, whose selector is its parent's."""
        self._caller.close()

    def _read(self) -> None:
        if not self._open or self.is_complete:
            return
        try:
            data = self._caller.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._received += data
        is_handshake = self._is_handshake(bytes(self._received))
        if is_handshake:
            self.is_complete = True
            self._selector.unregister(self._caller)
            self._on_handshake()
        elif is_handshake is not None:
            self.close("no handshake")
