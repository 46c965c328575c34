"""The Accept header: RFC 9110's example, what browsers send, and what nobody should."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers

from services.api.formats.accept import accept_encoding, accepted_codings, best_coding, parse_accept


@pytest.mark.parametrize(
    ("header", "media_type", "quality"),
    [
        ("", "text/csv", 1.0),
        ("text/csv", "text/csv", 1.0),
        ("text/csv", "application/json", 0.0),
        ("TEXT/CSV; Q=0.5", "text/csv", 0.5),
        ("text/*;q=0.3, text/csv;q=0.7, */*;q=0.5", "text/csv", 0.7),
        ("text/*;q=0.3, text/csv;q=0.7, */*;q=0.5", "text/html", 0.3),
        ("text/*;q=0.3, text/csv;q=0.7, */*;q=0.5", "image/png", 0.5),
        ("text/csv;q=0, */*", "text/csv", 0.0),
        ("text/csv;q=0.000", "text/csv", 0.0),
        ('text/csv;header="a,b;q=0";q=0.2', "text/csv", 0.2),
        ("text/csv;charset=utf-8", "text/csv", 1.0),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json", 0.8),
        ("text/csv;q=2, application/json", "text/csv", 0.0),
        ("text/csv;q=0.1234, application/json", "text/csv", 0.0),
        ("text/csv;q=, application/json", "text/csv", 0.0),
        ("*/csv", "text/csv", 0.0),
        ("nonsense", "application/json", 0.0),
        (",,;,", "application/json", 0.0),
        ("text/csv;q=0.1, text/csv", "text/csv", 0.1),
    ],
)
def test_the_closest_range_says_how_welcome_a_type_is(header: str, media_type: str, quality: float) -> None:
    assert parse_accept(header).quality(media_type) == quality


@settings(deadline=None)
@given(st.text(alphabet='ab*/;,q=01. "\\', max_size=60))
def test_any_header_has_a_meaning(header: str) -> None:
    assert 0 <= parse_accept(header).quality("a/b") <= 1


@pytest.mark.parametrize(
    ("lines", "coding"),
    [
        ([], None),
        (["identity"], None),
        (["br", "gzip"], "gzip"),
        (["gzip", "zstd"], "zstd"),
        (["gzip", "zstd;q=0"], "gzip"),
        (["*"], "gzip"),
        (["br, *;q=0.1"], "gzip"),
        (["zstd, *"], "zstd"),
        (["zstd;q=0, *"], "gzip"),
        (["*;q=0"], None),
        (["*", "gzip;q=0"], None),
        (["br;q=1.0, *;q=0.000"], None),
    ],
)
def test_what_an_answer_is_packed_by(lines: list[str], coding: str | None) -> None:
    headers = Headers(raw=[(b"accept-encoding", line.encode()) for line in lines])
    assert best_coding(accept_encoding(headers)) == coding


def test_a_star_is_no_name_of_a_coding() -> None:
    assert accepted_codings("br, *, , GZIP;q=0.5") == {"br", "gzip"}
