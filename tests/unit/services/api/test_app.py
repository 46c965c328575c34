"""GIVEN who takes no gzip WHEN any page is asked for THEN the middleware packs nothing for them either."""

from typing import Any

import anyio
import pytest
from starlette.responses import PlainTextResponse

from services.api.app import _Zipping


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (["gzip;q=0"], None),
        (["br"], None),
        (["gzip;q=0, *"], None),
        (["*;q=0"], None),
        ([], None),
        (["gzip"], b"gzip"),
        (["gzip;q=0.5"], b"gzip"),
        (["br", "gzip"], b"gzip"),
        (["*"], b"gzip"),
    ],
)
def test_gzip_only_for_those_who_take_it(accepted: list[str], coding: bytes | None):
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        app = _Zipping(PlainTextResponse("x" * 5000), minimum_size=1400)
        headers = [(b"accept-encoding", line.encode()) for line in accepted]
        scope = {"type": "http", "method": "GET", "headers": headers}
        await app(scope, anyio.sleep_forever, send)

    anyio.run(ask)
    headers = dict(sent[0]["headers"])
    assert headers.get(b"content-encoding") == coding
    assert headers[b"vary"] == b"Accept-Encoding"
