"""GIVEN the web UI's first page WHEN its questions are asked ahead THEN word for word as the page asks them."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from fastapi import Request

from services.api.auth import Access
from services.api.callers import session_of
from services.api.formats.accept import best_coding
from services.api.home import HOME, check_views, home_requests
from services.api.kept_answers import Key
from services.errors import SettingsProblem

SOURCES = Path(__file__).parents[4] / "webui/src"


def home() -> dict[str, str]:
    """What the page begins with, by parameter."""
    text = (SOURCES / "selection/place.ts").read_text()
    body = text.partition("export const HOME")[2].partition("};")[0]
    return dict(re.findall(r"^  (\w+): '([^']*)',", body, re.MULTILINE))


def number(name: str) -> str:
    """A constant of the page's questions."""
    found = re.search(rf"^const {name} = ([0-9_]+);", (SOURCES / "api/queries.ts").read_text(), re.MULTILINE)
    assert found is not None, name
    return found[1].replace("_", "")


def test_they_are_what_the_page_asks():
    place = home()
    selection = [(name, place[name]) for name in ("event", "from", "to", "campaign")]
    assert {path: parse_qsl(query) for path, query, _ in HOME} == {
        "/api/v1/table": [
            *selection,
            *((name, place[name]) for name in ("by", "sort")),
            ("limit", number("PAGE")),
            ("offset", "0"),
        ],
        "/api/v1/flame": [*selection, ("nodes", number("FLAME_NODES"))],
    }
    assert place["view"] == "both", "the page asks both"
    (media_type,) = re.findall(r"FLAME_MEDIA_TYPE = '([^']+)'", (SOURCES / "flame/decode.ts").read_text())
    assert [accept for _, _, accept in HOME] == ["*/*", media_type]


def test_they_are_asked_by_a_session_of_this_process(tmp_path: Path):
    access = Access(tmp_path)
    for scope in home_requests(access):
        session = session_of(Request(scope), access)
        assert session is not None
        assert session.role == "viewer"


TABLE = "/api/v1/table"
DESCRIBED = {
    "paths": {
        TABLE: {
            "get": {
                "parameters": [{"name": n, "in": "query"} for n in ("from", "to", "select", "by", "focus")]
            }
        },
        "/api/v1/callers": {"get": {"parameters": [{"name": "function", "in": "query", "required": True}]}},
        "/api/v1/sources": {"post": {}},
        "/api/v1/data/profiles": {"get": {"parameters": [{"name": "follow", "in": "query"}]}},
        "/api/v1/stacks": {"get": {"parameters": [{"name": "format", "in": "query"}]}},
    }
}
KEPT = {TABLE, "/api/v1/callers", "/api/v1/stacks"}


def test_a_view_is_written_as_browsers_do(tmp_path: Path):
    """Seen: bytes that are read as UTF-8 in one place and as Latin-1 in the other are two questions with one answer."""
    views = (
        TABLE + '?select={app="größe"}&by=a+b%20c',
        f"{TABLE}?select=%7Bapp%3D%22gr%C3%B6%C3%9Fe%22%7D&by=a%20b+c",
    )
    raw, escaped = map(Request, home_requests(Access(tmp_path), views)[len(HOME) :])
    assert raw.scope["query_string"].isascii()
    assert dict(raw.query_params) == dict(escaped.query_params) == {"select": '{app="größe"}', "by": "a b c"}
    assert Key.of(raw) == Key.of(escaped)


def test_views_are_asked_as_the_page_asks(tmp_path: Path):
    views = (f"{TABLE}?by=application", "/api/v1/flame?from=now-1d", "/api/v1/status")
    *home, table, flame, status = home_requests(Access(tmp_path), views)
    assert len(home) == len(HOME)
    assert [scope["path"] for scope in (table, flame, status)] == [view.partition("?")[0] for view in views]
    assert [scope["query_string"] for scope in (table, flame, status)] == [
        b"by=application",
        b"from=now-1d",
        b"",
    ]
    accepts = [dict(scope["headers"])[b"accept"].decode() for scope in (table, flame, status)]
    assert accepts == ["*/*", HOME[1][2], "*/*"]


@pytest.mark.parametrize(
    ("view", "why"),
    [
        ("/api/v1/tabel", "/api/v1/tabel cannot be asked for. Did you mean /api/v1/table?"),
        ("/api/v1/sources", "/api/v1/sources cannot be asked for"),
        (f"{TABLE}?form=now-1h", "no parameter 'form'. Did you mean from?"),
        (f"{TABLE}?by=file&by=binary", "the parameter 'by' is given more than once"),
        ("/api/v1/callers", "needs the parameter 'function'"),
        (TABLE + '?select={app="a"', "FLEETPROF_WARMED: /api/v1/table: "),
        (f"{TABLE}?from=yesterday", "yesterday"),
        (f"{TABLE}?focus=(", "FLEETPROF_WARMED: /api/v1/table: "),
        ("/api/v1/data/profiles?follow=true", "answers of /api/v1/data/profiles are not kept"),
        ("/api/v1/data/profile", "/api/v1/data/profile cannot be asked for."),
        ("/api/v1/stacks?format=pprof", "answers of /api/v1/stacks as pprof are not kept"),
    ],
)
def test_a_view_that_cannot_be_asked_for_is_said(view: str, why: str):
    with pytest.raises(SettingsProblem) as raised:
        check_views((view,), DESCRIBED, KEPT)
    assert why in str(raised.value)


def test_views_that_can_be_asked_for_pass():
    check_views(
        (
            TABLE,
            TABLE + '?select={app="a"}&from=now-1d&to=now',
            "/api/v1/callers?function=main",
            "/api/v1/stacks?format=csv",
        ),
        DESCRIBED,
        KEPT,
    )


def test_views_where_nothing_is_kept_are_refused():
    with pytest.raises(SettingsProblem, match="FLEETPROF_ANSWER_SECONDS or FLEETPROF_ANSWER_BYTES is 0"):
        check_views((TABLE,), DESCRIBED, ())
    check_views((), DESCRIBED, ())


def test_each_is_asked_once_for_all_codings(tmp_path: Path):
    scopes = home_requests(Access(tmp_path))
    codings = [best_coding(dict(scope["headers"])[b"accept-encoding"].decode()) for scope in scopes]
    assert codings == ["zstd"] * len(HOME)
