"""HTTP connections that end: those whose peer stops within a request, and those that the application cuts.

What is sent waits until its reader takes it, for ever if need be: nothing of ASGI ends that from inside. So a
connection tells the application of each of its requests how to cut it, in the request's state; to the application
that is the same as a client who goes away.
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

from services.api.listening import Connections

HEAD_S: Final = 15.0
"""For a request's head to be complete, from the connection or from the head's first byte."""
REST_S: Final = 30.0
"""Between two pieces of a body that is answered already: who sends a large file may read its refusal only behind it."""
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
    ) -> None:
        """`connections` has the places of the server's sockets; None: they are not limited."""
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._head_s = head_s
        self._rest_s = rest_s
        self._number = -1
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """A client has connected."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _ABORT: transport.abort}
        self._number = transport.get_extra_info("socket").fileno()
        self._set_deadline(self._head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._forget_deadline()
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

    def _wait_for_peer(self) -> None:
        """Begin or end the time of what the peer owes."""
        answered = self.cycle is None or self.cycle.response_complete
        if self._connections is not None:
            (self._connections.waits if answered else self._connections.works)(self._number)
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
