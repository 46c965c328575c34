"""A connection before the server hears of it: what it says first is read here, and must come soon."""

from __future__ import annotations

import selectors
import socket
import time
from typing import TYPE_CHECKING, Final

from gateway.serving.greeting import is_client_hello, is_preface

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GREETED_IN_S: Final = 2.0
"""gRPC says hello as soon as it is connected; a second is what TCP waits before it sends a lost packet again."""
_PIECE_BYTES: Final = 16 << 10


class Newcomer:
    """Reads until the greeting is complete and then waits to be taken; registers itself with the selector."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        caller: socket.socket,
        inner: Path,
        *,
        on_greeting: Callable[[], None],
        on_end: Callable[[Newcomer, str], None],
    ) -> None:
        """`inner` is where the server listens for it.

        `on_greeting` hears once of a complete greeting, `on_end` once of the end and what is wrong, "" if it left;
        then the socket is closed.
        """
        self.inner = inner
        self.due = time.monotonic() + GREETED_IN_S
        """CLOCK_MONOTONIC seconds at which its greeting must have come."""
        self.has_greeted = False
        self._selector = selector
        self._caller = caller
        self._is_greeting = is_preface if caller.family == socket.AF_UNIX else is_client_hello
        self._on_greeting = on_greeting
        self._on_end = on_end
        self._said = bytearray()
        self._open = True
        caller.setblocking(False)
        selector.register(caller, selectors.EVENT_READ, lambda _: self._read())

    def take(self) -> tuple[socket.socket, bytes]:
        """The connection of one that has greeted, and what it said; they are the caller's own from now on."""
        self._open = False
        return self._caller, bytes(self._said)

    def close(self, why: str = "") -> None:
        """Hang up; may be called twice."""
        if not self._open:
            return
        self._open = False
        if not self.has_greeted:
            self._selector.unregister(self._caller)
        self._caller.close()
        self._on_end(self, why)

    def let_go(self) -> None:
        """Close our descriptor and leave the connection alone: for a forked child, whose selector is its parent's."""
        self._caller.close()

    def _read(self) -> None:
        if not self._open or self.has_greeted:
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
        self._said += data
        is_greeting = self._is_greeting(bytes(self._said))
        if is_greeting:
            self.has_greeted = True
            self._selector.unregister(self._caller)
            self._on_greeting()
        elif is_greeting is not None:
            self.close("no handshake")
