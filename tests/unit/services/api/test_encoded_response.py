"""GIVEN a figure that is none WHEN an answer is written THEN it is a mistake of ours, and no invalid JSON."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import zstandard
from fastapi import Request
from fastapi.responses import StreamingResponse
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from services.api import encoded_response
from services.api.encoded_response import as_json, zipped
from tests.golden_answers import GOLDEN

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_written(figure: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"share": figure})


@pytest.mark.slow
@given(JSON)
def test_what_is_written_is_what_was_said(value: Any) -> None:
    assert json.loads(as_json({"value": value})[0]) == {"value": value}


@pytest.mark.parametrize("name", ["isNaN", "Infinity", "-Infinity", "NaN", '":NaN,"', ":NaN,", "[NaN]"])
def test_names_of_what_is_no_number_are_names(name: str) -> None:
    assert json.loads(as_json({name: [name, 0.5]})[0]) == {name: [name, 0.5]}


@pytest.mark.parametrize("name", ["isNaN", "Infinity", "NaN", "-Infinity", "std::isNaN(x, y)"])
def test_such_names_are_written_the_fast_way(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(encoded_response, "_carefully", lambda document: pytest.fail("the slow way"))
    as_json({"names": [name, f"{name}, {name}"], name: 0.5})


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize(
    "around",
    [lambda x: [x], lambda x: [1, x], lambda x: [x, 1], lambda x: {"a": x}, lambda x: {"a": x, "b": 1}],
)
def test_no_place_hides_what_is_no_number(figure: float, around: Callable[[float], Any]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"names": ["isNaN"], "figures": around(figure)})


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.json")), ids=lambda path: path.stem)
def test_both_ways_of_writing_say_the_same(path: Path) -> None:
    answer = json.loads(path.read_text())
    fast = to_json(answer)
    assert as_json(answer)[0] == fast
    assert json.loads(fast) == json.loads(encoded_response._carefully(answer)) == answer


def test_what_json_refuses_is_written_as_text() -> None:
    """What the docstring of `as_json` says; nothing relies on it."""
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    document = {
        "at": at,
        "day": at.date(),
        "for": timedelta(hours=1),
        "set": {"a"},
        "of": b"bytes",
        "at/": Path("/a"),
    }
    with pytest.raises(TypeError):
        json.dumps(document)
    assert json.loads(as_json(document)[0]) == {
        "at": "2026-11-21T12:00:00Z",
        "day": "2026-11-21",
        "for": "PT1H",
        "set": ["a"],
        "of": "bytes",
        "at/": "/a",
    }
    with pytest.raises(TypeError, match="not JSON serializable"):
        as_json({"number": np.int64(1)})


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
        ("br, *", "gzip"),
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
