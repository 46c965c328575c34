"""HTTP connections that end: those whose peer stops within a request, and those that the application cuts.

What is sent waits until its reader takes it, for ever if need be: nothing of ASGI ends that from inside. So a
connection tells the application of each of its requests how to cut it, in the request's state; to the application
that is the same as a client who goes away.

An answer is under way until it is sent, which is later than the application's last write to it. A connection whose
peer stops reading keeps its answer, and makes room for others as those without a request do.
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
"""For a request's head to be complete, from the connection or from the head's first byte."""
REST_S: Final = 30.0
"""Between two pieces of a body that is answered already: who sends a large file may read its refusal only behind it."""
UNREAD_S: Final = 30.0
"""Between two looks at how much of an answer is sent."""
LEAST_READ: Final = 16 << 10
"""Bytes between two looks; asyncio resumes writing where so many are left."""
_ABORT = "fleetprof.abort"


class CuttableConnection(H11Protocol):
    """uvicorn's HTTP/1.1; the state of its requests has the connection's `abort`.

    uvicorn ends idle connections that have had an answer, and no others: what it waits for is given its time here.
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
        """`connections` has the places of the server's sockets; None: they are not limited."""
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._head_s = head_s
        self._rest_s = rest_s
        self._unread_s = unread_s
        self._number = -1
        self._deadline: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """A client has connected."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _ABORT: transport.abort}
        self._number = transport.get_extra_info("socket").fileno()
        self._set_deadline(self._head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._forget_deadline()
        self._end_looks()
        self._number = -1  # another connection may have the descriptor from now on
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Something has come, or what came before is looked at once its predecessor is answered."""
        super().handle_events()
        self._wait_for_peer()

    def on_response_complete(self) -> None:
        """All of an answer is written."""
        super().on_response_complete()
        self._wait_for_peer()

    def pause_writing(self) -> None:
        """More is unsent than the transport keeps gladly."""
        super().pause_writing()
        self._keep_place(working=True)
        self._look_later()

    def resume_writing(self) -> None:
        """The peer has read nearly all of it."""
        self._end_looks()
        super().resume_writing()
        self._wait_for_peer()

    def _look_later(self) -> None:
        self._look = self.loop.call_later(
            self._unread_s, self._look_at_progress, self.transport.get_write_buffer_size()
        )

    def _look_at_progress(self, before: int) -> None:
        """Nothing is written meanwhile: what becomes less has been sent."""
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
        """Begin or end the time of what the peer owes."""
        answered = self.cycle is None or self.cycle.response_complete
        if not self.flow.write_paused:  # else the looks decide: a peer that sends does not read for that
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
        """Unless there is one: no piece that comes moves it."""
        if self._deadline is None and self._number >= 0:
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _keep_alive(self) -> None:
        """Where what came last was the end of a body, uvicorn has stopped its timer and starts none."""
        if self.timeout_keep_alive_task is None and self._number >= 0:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def cut_of(request: Request) -> Callable[[], None]:
    """Cuts the request's connection at once, from any thread; does nothing under a server without `CuttableConnection`."""
    abort = request.scope.get("state", {}).get(_ABORT)
    loop = asyncio.get_running_loop()

    def cut() -> None:
        if abort is not None:
            with suppress(RuntimeError):  # the loop is closed, and with it the connection
                loop.call_soon_threadsafe(abort)

    return cut
