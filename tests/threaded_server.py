"""An application behind a real server, with connections that it can cut, in a thread of the test's."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from services.api import problems
from services.api.connection_limits import Connections, LimitedListener
from services.api.connections import CuttableConnection
from tests.polling import until


@contextmanager
def listening(
    app: FastAPI, *, keep_alive_s: int = 5, connections: Connections | None = None, **times: Any
) -> Iterator[int]:
    """Serve the app, its errors as problem documents; the port. `times` are those of `CuttableConnection`.

    `connections` limits how many there are; None: nothing does.
    """
    problems.install(app)

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["request_id"] = "of-a-test"
        await app(scope, receive, send)

    server = uvicorn.Server(
        uvicorn.Config(
            named,
            lifespan="off",
            log_config=None,
            http=partial(CuttableConnection, connections=connections, **times),  # type: ignore[arg-type] # any callable does
            timeout_keep_alive=keep_alive_s,
            timeout_graceful_shutdown=1,
        )
    )
    bound = socket.create_server(("127.0.0.1", 0))
    if connections is not None:
        bound = LimitedListener.of(bound, connections)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        until(lambda: server.started, "it listens")
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
