"""A request's body on a disk that is full."""

import asyncio
import gzip
from http import HTTPStatus
from pathlib import Path

import pytest
import zstandard
from fastapi import Request

from services.api import body
from services.api.body import body_as_file
from services.api.problems import Problem

DEVICE = Path("/dev/full")


def request(content: bytes, encoding: str) -> Request:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": content, "more_body": False}

    headers = [(b"content-encoding", encoding.encode())]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)


@pytest.mark.parametrize("size", [1, 100_000, 3 << 20])
@pytest.mark.parametrize("encoding", ["identity", "gzip", "zstd"])
def test_a_full_disk_is_a_507(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, size: int):
    """The device takes nothing and says that it is full, again when the file is closed."""
    monkeypatch.setattr(body, "_nameless", lambda folder: DEVICE.open("r+b"))
    content = bytes(size)
    sent = {"identity": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}[encoding](content)

    async def receive() -> None:
        async with body_as_file(request(sent, encoding), tmp_path, limit=1 << 30):
            pytest.fail("it was taken")

    with pytest.raises(Problem) as caught:
        asyncio.run(receive())
    assert caught.value.status == HTTPStatus.INSUFFICIENT_STORAGE
