"""GIVEN readers that ask for files and take nothing WHEN their time is over THEN others get theirs."""

import http.client
import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from services.api.formats.forms import Form, Forms
from services.api.profiles.query_handler import QueryHandler
from services.api.response_cache import ResponseCache
from storage.query.query_engine import QueryEngine
from storage.snapshots.query_budget import Budget, Limits
from tests.polling import until
from tests.threaded_server import listening

pytestmark = pytest.mark.integration
_FILES = 4


class Idle(QueryEngine):
    """Is asked nothing."""

    def __init__(self) -> None:
        """Without a store."""

    def budget(self) -> Budget:
        return Budget(Limits())


def parts(asked: int) -> Iterator[bytes]:
    for _ in range(asked):
        yield os.urandom(1 << 20)


def asking(port: int, megabytes: int, encoding: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", f"/file?megabytes={megabytes}", headers={"Accept-Encoding": encoding})
    return connection


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_who_takes_nothing_is_cut_off(encoding: str):
    app = FastAPI()
    handler = QueryHandler(
        Idle(), CapacityLimiter(4), lambda: None, ResponseCache(0, ttl_s=0.0), unread_s=0.2
    )
    forms = Forms((Form("file", "text/plain", "txt", parts, in_parts=True),))

    @app.get("/file")
    async def file(request: Request, megabytes: int) -> Response:
        return await handler.answer(request, forms, megabytes)

    with listening(app) as port:
        slow = [asking(port, 10_000, encoding) for _ in range(_FILES)]
        for connection in slow:
            assert connection.getresponse().read(1)

        def status() -> int:
            with closing(asking(port, 1, encoding)) as connection:
                response = connection.getresponse()
                response.read()
                return response.status

        until(lambda: status() == 200, "a place is free", seconds=30)
        for connection in slow:
            connection.close()
