"""HTTP connections that the application can cut.

What is sent waits until its reader takes it, for ever if need be: nothing of ASGI ends that from inside. So a
connection tells the application of each of its requests how to cut it, in the request's state; to the application
that is the same as a client who goes away.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fastapi import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

_ABORT = "fleetprof.abort"


class CuttableConnection(H11Protocol):
    """uvicorn's HTTP/1.1; the state of its requests has the connection's `abort`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """A client has connected."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _ABORT: transport.abort}


def cut_of(request: Request) -> Callable[[], None]:
    """Cuts the request's connection at once, from any thread; does nothing under a server without `CuttableConnection`."""
    abort = request.scope.get("state", {}).get(_ABORT)
    loop = asyncio.get_running_loop()

    def cut() -> None:
        if abort is not None:
            with suppress(RuntimeError):  # the loop is closed, and with it the connection
                loop.call_soon_threadsafe(abort)

    return cut
