"""HTTP connections with time limits for the peer, which the application can cut.

ASGI has no means to abort a response: a write waits until the peer reads, possibly for ever. So a connection puts a
function into the state of each request that cuts it; the application sees a cut as a client's disconnect.

A response is in progress until its last byte is sent, which is later than the application's last write. A connection
whose peer stops reading keeps its response, and counts as idle: it is closed if a new connection needs its place.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import h11
import uvicorn
from fastapi import Request
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from services.api.connection_limits import Connections

HEAD_S: Final = 15.0
"""For a complete request head, since the connection or since the head's first byte."""
REST_S: Final = 30.0
"""Between two pieces of a body whose response is sent already: a client may send a large file before it reads the
refusal."""
UNREAD_S: Final = 30.0
"""Between two checks of how much of a response is sent."""
LEAST_READ: Final = 16 << 10
"""Bytes that a peer must read between two checks; asyncio resumes writing when this many are left."""
_ABORT = "fleetprof.abort"


class CuttableConnection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol; the state of its requests contains the connection's `abort`.

    uvicorn limits the time of idle connections only after their first response. This class adds the other limits.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections | None = None,
        head_s: float = HEAD_S,
        rest_s: float = REST_S,
        unread_s: float = UNREAD_S,
    ) -> None:
        """`connections` counts the places of the server's sockets; None: no limit."""
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._head_s = head_s
        self._rest_s = rest_s
        self._unread_s = unread_s
        self._number = -1
        self._deadline: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Start the time limit of the first request's head."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _ABORT: transport.abort}
        self._number = transport.get_extra_info("socket").fileno()
        self._set_deadline(self._head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        self._forget_deadline()
        self._end_looks()
        self._number = -1  # another connection may get the same descriptor from now on
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle received data, or data that waited for the previous response."""
        super().handle_events()
        self._wait_for_peer()

    def on_response_complete(self) -> None:
        """Wait for the next request: the response is written."""
        super().on_response_complete()
        self._wait_for_peer()

    def pause_writing(self) -> None:
        """Start checking the peer's progress: the unsent bytes exceed the transport's limit."""
        super().pause_writing()
        self._keep_place(working=True)
        self._look_later()

    def resume_writing(self) -> None:
        """Stop checking: the peer has read nearly all of the response."""
        self._end_looks()
        super().resume_writing()
        self._wait_for_peer()

    def _look_later(self) -> None:
        self._look = self.loop.call_later(
            self._unread_s, self._look_at_progress, self.transport.get_write_buffer_size()
        )

    def _look_at_progress(self, before: int) -> None:
        """Nothing is written meanwhile, so a smaller buffer means that bytes were sent."""
        self._keep_place(working=before - self.transport.get_write_buffer_size() >= LEAST_READ)
        self._look_later()

    def _end_looks(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def _keep_place(self, *, working: bool) -> None:
        if self._connections is not None:
            (self._connections.works if working else self._connections.waits)(self._number)

    def _wait_for_peer(self) -> None:
        """Start or stop the time limit of the data that the peer must send."""
        answered = self.cycle is None or self.cycle.response_complete
        if (
            not self.flow.write_paused
        ):  # else the progress checks decide: a peer that sends does not necessarily read
            self._keep_place(working=not answered)
        if not answered:
            self._forget_deadline()
        elif self.conn.their_state is h11.SEND_BODY:
            self._forget_deadline()
            self._set_deadline(self._rest_s)
        elif self.conn.trailing_data[0]:
            self._set_deadline(self._head_s)
        elif self.cycle is not None:
            self._forget_deadline()
            self._keep_alive()

    def _set_deadline(self, seconds: float) -> None:
        """Set the deadline unless one is set: received pieces do not move it."""
        if self._deadline is None and self._number >= 0:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _keep_alive(self) -> None:
        """Start uvicorn's idle timer, which uvicorn stops and does not restart if a body's end came last."""
        if self.timeout_keep_alive_task is None and self._number >= 0:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def cut_of(request: Request) -> Callable[[], None]:
    """A function that cuts the request's connection, from any thread; without `CuttableConnection` it does nothing."""
    abort = request.scope.get("state", {}).get(_ABORT)
    loop = asyncio.get_running_loop()

    def cut() -> None:
        if abort is not None:
            with suppress(RuntimeError):  # the loop is closed and with it the connection
                loop.call_soon_threadsafe(abort)

    return cut
