"""GIVEN a figure that is none WHEN an answer is written THEN it is a mistake of ours, and no invalid JSON."""

import json

import pytest
from fastapi import Request

from services.api.replies import as_json, zipped


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_written(figure: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"share": figure})


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
    [("gzip", "gzip"), ("br, gzip; q=0.2", "gzip"), ("gzip;q=0", None), ("gzip; Q=0.00", None)],
)
def test_gzip_only_for_those_who_take_it(accepted: str, coding: str | None) -> None:
    request = Request({"type": "http", "headers": [(b"accept-encoding", accepted.encode())]})
    for content in (b"x" * 5000, iter([b"x" * 5000])):
        assert zipped(request, content, "text/plain").headers.get("content-encoding") == coding
