"""A connection before its handshake is complete: reads the first message, within a timeout."""

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
"""gRPC sends it right after connecting; one second is TCP's retransmission timeout for a lost packet."""
_PIECE_BYTES: Final = 16 << 10


class PendingConnection:
    """Reads until the handshake message is complete, then waits for `take`; registers itself with the selector."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        caller: socket.socket,
        inner: Path,
        *,
        on_handshake: Callable[[], None],
        on_end: Callable[[PendingConnection, str], None],
    ) -> None:
        """`inner` is the server's socket path for this connection.

        `on_handshake` is called once when the message is complete. `on_end` is called once before the socket is
        closed, with the reason; "" if the client disconnected.
        """
        self.inner = inner
        self.deadline = time.monotonic() + HANDSHAKE_TIMEOUT_S
        """CLOCK_MONOTONIC seconds by which the message must be complete."""
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
        """The connection and the bytes received so far; the caller owns both from now on."""
        self._open = False
        return self._caller, bytes(self._received)

    def close(self, why: str = "") -> None:
        """Close the connection; may be called twice."""
        if not self._open:
            return
        self._open = False
        if not self.is_complete:
            self._selector.unregister(self._caller)
        self._caller.close()
        self._on_end(self, why)

    def close_in_child(self) -> None:
        """Close the descriptor only: for a forked child; the connection and the selector belong to the parent."""
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
