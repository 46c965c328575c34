"""GIVEN a figure that is none WHEN an answer is written THEN it is a mistake of ours, and no invalid JSON."""

import gzip
import json
from typing import Any

import anyio
import pytest
import zstandard
from fastapi import Request
from fastapi.responses import StreamingResponse
from hypothesis import given
from hypothesis import strategies as st

from services.api.replies import as_json, zipped

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_written(figure: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"share": figure})


@given(JSON)
def test_what_is_written_is_what_was_said(value: Any) -> None:
    assert json.loads(as_json({"value": value})[0]) == {"value": value}


@pytest.mark.parametrize("name", ["isNaN", "Infinity", '":NaN,"'])
def test_names_of_what_is_no_number_are_names(name: str) -> None:
    assert json.loads(as_json({name: [name, 0.5]})[0]) == {name: [name, 0.5]}


def test_a_name_that_is_no_unicode_fails_no_answer() -> None:
    content, _ = as_json({"name": "caf\udce9"})
    assert json.loads(content) == {"name": "caf?"}


def test_answers_are_compactas_json() -> None:
    content, media_type = as_json({"names": ["größer", None], "share": 0.5})
    assert content == '{"names":["größer",null],"share":0.5}'.encode()
    assert json.loads(content)["share"] == 0.5
    assert media_type == "application/json"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("br, gzip; q=0.2", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0, gzip", "gzip"),
        ("gzip;q=0", None),
        ("gzip; Q=0.00", None),
        ("br, *", None),
    ],
)
def test_answers_are_packed_as_who_asked_can_read(accepted: str, coding: str | None) -> None:
    request = Request({"type": "http", "headers": [(b"accept-encoding", accepted.encode())]})
    content = b"a flame graph, " * 300
    whole = zipped(request, content, "text/plain")
    assert whole.headers.get("content-encoding") == coding
    assert unpacked(bytes(whole.body), coding) == content
    parts = zipped(request, iter([content[:99], content[99:]]), "text/plain")
    assert isinstance(parts, StreamingResponse)
    assert parts.headers.get("content-encoding") == coding
    assert unpacked(anyio.run(everything, parts), coding) == content
    for response in (whole, parts):
        assert response.headers["vary"] == "Accept-Encoding"


def test_small_and_packed_answers_are_sent_as_they_are() -> None:
    request = Request({"type": "http", "headers": [(b"accept-encoding", b"zstd, gzip")]})
    for small in (
        zipped(request, b"x" * 1399, "text/plain"),
        zipped(request, b"x" * 9999, "a/b", packed=True),
    ):
        assert "content-encoding" not in small.headers


def unpacked(content: bytes, coding: str | None) -> bytes:
    match coding:
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)
        case "gzip":
            return gzip.decompress(content)
    return content


async def everything(response: StreamingResponse) -> bytes:
    return b"".join(
        [part if isinstance(part, bytes) else bytes(part) async for part in response.body_iterator]
    )
